import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { useModels } from '../models.ts'
import { Time } from '../parts/time.tsx'
import { setPreferences, themes } from '../preferences.ts'
import { useMay, useSession } from '../session.tsx'
import { type TextKey, useText } from '../text.tsx'
import type { VideoRow } from '../videos.ts'
import { useAccountFinds, useTokenFinds, useVideoFinds } from './finds.ts'
import { places } from './places.ts'

interface Choice {
  id: string
  name: string
  /** It is found by this as well. */
  also?: string
  hint: ReactNode
  run(): void
}

/** Ctrl-K: pages, models, accounts, tokens, videos by their prompts or ids, and the theme, by typing. */
export function Palette({ isOpen, setOpen }: { isOpen: boolean; setOpen: (isOpen: boolean) => void }) {
  const t = useText()
  const { title } = useNames()
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [setOpen])
  const popup = useRef<HTMLDivElement>(null)
  const giveBack = useFocusBefore(isOpen, popup)
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen} onOpenChangeComplete={(isShown) => isShown || giveBack()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup ref={popup} className="palette" finalFocus={false}>
          <Dialog.Title className="hidden">{t(title)}</Dialog.Title>
          <Choices close={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** Gives the focus back to what had it before, unless another page has it by now. Base UI would focus a part of that. */
function useFocusBefore(isOpen: boolean, popup: RefObject<HTMLElement | null>): () => void {
  const before = useRef<Element | null>(null)
  useLayoutEffect(() => {
    if (isOpen) before.current = document.activeElement
  }, [isOpen])
  return () => {
    const { activeElement, body } = document
    if (activeElement !== body && !popup.current?.contains(activeElement)) return
    const last = before.current?.isConnected ? before.current : document.getElementById('page')
    if (last instanceof HTMLElement) last.focus({ preventScroll: true })
  }
}

/** What can be found depends on who searches. */
function useNames(): { title: TextKey; placeholder: TextKey } {
  return useMay()('see all')
    ? { title: 'palette.titleAll', placeholder: 'palette.placeholderAll' }
    : { title: 'palette.title', placeholder: 'palette.placeholder' }
}

function Choices({ close }: { close: () => void }) {
  const t = useText()
  const { title, placeholder } = useNames()
  const list = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const found = useChoices(text)
  const chosen = found[Math.min(at, found.length - 1)]
  const run = (choice: Choice) => {
    close()
    choice.run()
  }
  // What is searched may still be read: Enter then stands for the first one that is found.
  const [isEntered, setEntered] = useState(false)
  useEffect(() => {
    if (!isEntered || !chosen) return
    setEntered(false)
    run(chosen)
  })
  const onKeyDown = (event: KeyboardEvent) => {
    // These keys choose a word in an input method.
    if (event.nativeEvent.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined && event.key !== 'Enter') return
    event.preventDefault()
    if (step === undefined) return setEntered(true)
    if (found.length > 0) setAt((Math.min(at, found.length - 1) + step + found.length) % found.length)
  }
  return (
    <>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen && `${list}${chosen.id}`}
        aria-label={t(title)}
        placeholder={t(placeholder)}
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setAt(0)
          setEntered(false)
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={list} aria-label={t(title)} className="choices">
        {found.map((choice) => (
          // The keys of the field choose, so an option itself is never focused.
          <button
            type="button"
            role="option"
            tabIndex={-1}
            key={choice.id}
            id={`${list}${choice.id}`}
            aria-selected={choice === chosen}
            onClick={() => run(choice)}
          >
            <bdi>{choice.name}</bdi>
            <small>{choice.hint}</small>
          </button>
        ))}
      </div>
      {found.length === 0 && <p className="quiet pad">{t('palette.nothing')}</p>}
    </>
  )
}

/** Videos with the same prompt differ by this. */
function VideoHint({ video: { model, status, createdAt } }: { video: VideoRow }) {
  const t = useText()
  return (
    <>
      {model} · {t(`status.${status}`)} · <Time at={createdAt} />
    </>
  )
}

/** Of each kind, so that many videos do not hide a page. */
const mostOfKind = 6

function useChoices(text: string): Choice[] {
  const t = useText()
  const navigate = useNavigate()
  const session = useSession()
  const wanted = text.trim().toLowerCase()
  const { data: models = [] } = useModels()
  const [tokens, accounts, videos] = [useTokenFinds(), useAccountFinds(), useVideoFinds(wanted)]
  const id = /^video_[0-9a-f]{48}$/.exec(wanted)?.[0]
  const toVideo = (video: string) => () => void navigate({ to: '/videos/$id', params: { id: video } })
  const matching = (choices: Choice[]) =>
    choices.filter(({ name, also = '' }) => `${name}\n${also}`.toLowerCase().includes(wanted)).slice(0, mostOfKind)
  const pages = places(session).map(({ to, name }) => ({
    ...{ id: to, name: t(name), hint: t('palette.page') },
    run: () => void navigate({ to }),
  }))
  const objects: Choice[][] = [
    models.map(({ id: model }) => ({
      ...{ id: `model:${model}`, name: model, hint: t('palette.model') },
      run: () => void navigate({ to: '/models/$', params: { _splat: model } }),
    })),
    accounts.map((name) => ({
      ...{ id: `account:${name}`, name, hint: t('palette.account') },
      run: () => void navigate({ to: '/providers/$name', params: { name } }),
    })),
    tokens.map(({ id: token, name, project }) => ({
      ...{ id: token, name, also: `${token}\n${project ?? ''}`, hint: t('palette.token') },
      run: () => void navigate({ to: '/tokens/$id', params: { id: token } }),
    })),
    videos
      .filter((video) => video.id !== id)
      .map((video) => ({
        ...{ id: video.id, name: video.prompt, also: video.id, hint: <VideoHint video={video} /> },
        run: toVideo(video.id),
      })),
  ]
  const choices = themes.map((theme) => ({
    ...{ id: `theme:${theme}`, name: t(`theme.${theme}`), hint: t('palette.theme') },
    run: () => setPreferences({ theme }),
  }))
  return [
    ...(id ? [{ id, name: id, hint: t('palette.video'), run: toVideo(id) }] : []),
    ...(wanted === '' ? [...pages, ...matching(objects[0] ?? [])] : [pages, ...objects, choices].flatMap(matching)),
  ]
}
