import { getRouteApi, Navigate } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Video } from '../../../src/wire/videos.ts'
import { dataOf } from '../api.ts'
import { type Created, toCreation } from '../creating.ts'
import { type ModelRow, useOwnModels } from '../models.ts'
import { Code } from '../parts/code.tsx'
import { Empty } from '../parts/empty.tsx'
import { Select } from '../parts/field.tsx'
import { Head } from '../parts/head.tsx'
import { useSamples } from '../parts/samples.ts'
import { type Draft, draftFrom, emptyDraft, mostModels, readPlaySearch, requestOf, type Use } from '../playground.ts'
import { type Shown, useCreate, useEarlier, useLeaving, useShown } from '../playing.ts'
import { createRequestKeys } from '../request-keys.ts'
import { useConsoleState, useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { PlayForm } from './play-form.tsx'
import { Gallery } from './play-gallery.tsx'
import { Results } from './play-results.tsx'

const route = getRouteApi('/')

/** The first page: try a model, or compare up to four. */
export function PlaygroundPage() {
  const t = useText()
  const may = useMay()
  const mayCreate = may('create')
  // Others can only look.
  if (!mayCreate && !may('operate')) return <Navigate to="/overview" replace />
  return (
    <>
      <Head title={t('nav.playground')} about={t('play.about')} />
      {mayCreate ? <Models /> : <NoClient />}
    </>
  )
}

/** At the port of the operators' routes, a client token can't sign in either. */
function NoClient() {
  const t = useText()
  const { data: state } = useConsoleState()
  if (!state || state.serves_clients) return <Empty title={t('play.noClient')} text={t('play.noClientText')} />
  const { client_url: url } = state
  return <Empty title={t('play.elsewhere')} text={t('play.elsewhereText')} action={url && <a href={url}>{url}</a>} />
}

function Models() {
  const t = useText()
  const data = dataOf(useOwnModels())
  if (!data) return <p className="quiet pad">{t('table.loading')}</p>
  if (data.length === 0) return <Empty title={t('models.none')} text={t('models.noneText')} />
  return <Workbench all={data} />
}

/** The form, the videos that it created, the same request as code, and earlier videos. */
function Workbench({ all }: { all: readonly ModelRow[] }) {
  const { shown = [], model: names = [] } = route.useSearch()
  const navigate = route.useNavigate()
  const [draft, setDraft] = useState(emptyDraft)
  const [drafts] = useState(() => new Map<string, Draft>())
  const videos = useShown(shown)
  const chosen = modelsOf(all, names, draft)
  const setModels = (model: string[]) => void navigate({ search: (old) => ({ ...old, model }), replace: true })
  const { create, created, isPending, refused, error } = useRequests(draft, videos, (ids, sent) => {
    for (const id of ids) drafts.set(id, sent)
    void navigate({ search: (old) => ({ ...old, shown: ids }) })
  })
  const fill = useCallback(
    (video: Video, use: Use) => {
      setDraft(refilled(video, use, all, drafts.get(video.id)))
      const search = (old: object) => {
        const { from: _, use: __, ...others } = readPlaySearch({ ...old })
        return { ...others, model: [video.model] }
      }
      void navigate({ search, replace: true })
      document.getElementById('prompt')?.focus()
    },
    [all, drafts, navigate],
  )
  const notFound = useFrom(fill)
  return (
    <>
      <div className="two even">
        <PlayForm
          all={all}
          chosen={chosen}
          draft={draft}
          created={chosen.filter(({ id }) => created.has(id)).map(({ id }) => id)}
          isPending={isPending}
          error={notFound ?? error}
          setModels={setModels}
          setDraft={setDraft}
          onSubmit={() => create(chosen)}
        />
        <div className="play-side">
          <Results shown={videos} refused={refused} all={all} onUse={fill} />
          <Samples chosen={chosen} draft={draft} />
        </div>
      </div>
      <Gallery all={all} onUse={fill} />
    </>
  )
}

/** What became of the form as it is now: the ids of its videos, by model. */
interface Sent {
  draft: Draft
  ids: ReadonlyMap<string, string>
}

/**
 * Creates one video of each model for one filled form. Another click shows the same videos: only a model without one
 * gets a request, with the same key as before. A deleted video can be created again.
 */
function useRequests(draft: Draft, shown: readonly Shown[], onCreated: (ids: string[], draft: Draft) => void) {
  const [keys] = useState(createRequestKeys)
  const [sent, setSent] = useState<Sent>({ draft, ids: new Map() })
  const [refused, setRefused] = useState<Created[]>([])
  const own = sent.draft === draft ? [...sent.ids] : []
  const isDeleted = (id: string) => shown.some((one) => one.id === id && one.video === null)
  const created = new Map(own.filter(([, id]) => !isDeleted(id)))
  const { mutate, isPending, error } = useCreate()
  const page = useLeaving()
  // `isPending` is one render late for a second click.
  const isRunning = useRef(false)
  function receive(results: readonly Created[]): void {
    const made = results.flatMap(({ model, id }): [string, string][] => (id === null ? [] : [[model, id]]))
    setSent((old) => ({ draft, ids: new Map([...(old.draft === draft ? old.ids : []), ...made]) }))
    setRefused(results.filter(({ id }) => id === null))
    const ids = Array.from(made, ([, id]) => id)
    if (ids.length > 0) onCreated(ids, draft)
  }
  function create(models: readonly ModelRow[]): void {
    if (isRunning.current) return
    isRunning.current = true
    for (const [model, id] of own) if (isDeleted(id)) keys.renew(draft, model)
    const wanted = models.map((model) => ({
      ...{ model, key: keys.keyOf(draft, model.id) },
      id: created.get(model.id) ?? null,
    }))
    // Not called if the page is left before: the result would lead back to it.
    mutate(toCreation({ draft, wanted, page }), {
      onSuccess: receive,
      onSettled: () => {
        isRunning.current = false
      },
    })
  }
  return { create, created, isPending, refused, error }
}

/** The models of the address that exist; else the first that can be used. Only the model of a video can derive another one from it. */
function modelsOf(all: readonly ModelRow[], names: readonly string[], { original }: Draft): ModelRow[] {
  const found = names.flatMap((name) => all.find(({ id }) => id === name) ?? [])
  const usual = all.find(({ paused }) => !paused) ?? all[0]
  return (found.length > 0 || !usual ? found : [usual]).slice(0, original ? 1 : mostModels)
}

/** A request of this visit is repeated with its image and its parameters, which the API does not return. */
function refilled(video: Video, use: Use, all: readonly ModelRow[], sent: Draft | undefined): Draft {
  const model = all.find(({ id }) => id === video.model)
  const next = draftFrom(video, use, model, Math.floor(Math.random() * 2 ** 31))
  if (!sent || next.original) return next
  return { ...sent, parameters: { ...sent.parameters, ...next.parameters } }
}

/** Fills the form if the address names an earlier video. The error if that can't be read. */
function useFrom(fill: (video: Video, use: Use) => void): Error | null {
  const { from, use } = route.useSearch()
  const { data, error } = useEarlier(from)
  useEffect(() => {
    if (from !== undefined && use && data) fill(data, use)
  }, [from, use, data, fill])
  return from === undefined ? null : error
}

/** Several models are several requests: one of them is shown. */
function Samples({ chosen, draft }: { chosen: readonly ModelRow[]; draft: Draft }) {
  const t = useText()
  const toSamples = useSamples()
  const [name, setName] = useState<string | null>(null)
  const model = chosen.find(({ id }) => id === name) ?? chosen[0]
  if (!model) return null
  const request = requestOf(model, { ...draft, prompt: draft.prompt.trim() || t('videos.firstPrompt') })
  const image = draft.original ? null : (draft.image?.name ?? null)
  return (
    <section>
      <h2>{t('play.code')}</h2>
      {chosen.length > 1 && (
        <div className="code-model">
          <Select
            label={t('play.codeModel')}
            value={model.id}
            options={chosen.map(({ id }) => ({ value: id, label: id }))}
            onChange={({ target }) => setName(target.value)}
          />
        </div>
      )}
      <Code samples={toSamples(request, image)} />
    </section>
  )
}
