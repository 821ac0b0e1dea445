import { type ErrorComponentProps, Link, Outlet, useLocation, useRouter } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import type { ConsoleSession, ConsoleState } from '../../../src/wire/console.ts'
import { ApiError, isPassing, queries } from '../api.ts'
import { probe, useTrouble } from '../connection.ts'
import { Empty } from '../parts/empty.tsx'
import { titleId } from '../parts/head.tsx'
import { Prose, useReason } from '../parts/prose.tsx'
import { linkCode, personOf, SessionContext, signIn, useProbedState, useSession } from '../session.tsx'
import { useAlarmCount } from '../status.ts'
import { useText } from '../text.tsx'
import { Account } from './account.tsx'
import { Creations } from './creations.tsx'
import { Mark, MenuIcon, SearchIcon } from './icons.tsx'
import { Palette } from './palette.tsx'
import { places } from './places.ts'
import { Above, SignIn } from './sign-in.tsx'

/**
 * Around every page: who is signed in, where one can go, and what is wrong with the service. While the form is shown, the
 * page stays below it, so that nothing that was typed is lost when a session ends.
 */
export function Frame() {
  const { isTrying, failure, forget } = useCode()
  const [isAdding, setAdding] = useState(false)
  const { data: state, error } = useProbedState()
  const shown = useShownSession(state)
  const warning = <Warning />
  if (!state && error)
    return (
      <main className="waiting">
        <Broken error={error} reset={probe} />
      </main>
    )
  if (!state || isTrying) return <main className="waiting">{warning}</main>
  const { session } = state
  const end = () => {
    setAdding(false)
    forget()
  }
  const form = (!session || isAdding || failure) && (
    <>
      {warning}
      <SignIn isSignedIn={session !== null} onEnd={end}>
        <WhySignIn
          session={session}
          hasEnded={shown !== null || state.ended}
          hasPage={shown !== null}
          failure={failure}
        />
      </SignIn>
    </>
  )
  return (
    <>
      {shown && (
        <SessionContext value={shown}>
          <Signed key={personOf(shown)} state={state} warning={!form && warning} onSignIn={() => setAdding(true)} />
        </SessionContext>
      )}
      {form && (shown ? <Above>{form}</Above> : form)}
    </>
  )
}

/** Whose page is shown. A session that ends keeps its page until someone signs in; signing out here removes the page. */
function useShownSession(state: ReturnType<typeof useProbedState>['data']): ConsoleSession | null {
  const [shown, setShown] = useState<ConsoleSession | null>(null)
  const next = state?.session ?? (state?.hasSignedOut ? null : shown)
  if (next !== shown) setShown(next)
  return next
}

/** What is tried again at the moment, and why. */
function Warning() {
  const t = useText()
  const trouble = useTrouble()
  if (!trouble) return null
  const { reason } = trouble
  return (
    <p className="lost" role="status">
      <Prose text={reason === null ? t('frame.lost') : t('frame.unavailable', { reason })} />
    </p>
  )
}

interface WhySignInProps {
  session: ConsoleSession | null
  hasEnded: boolean
  /** The page of the session that ended is below the form. */
  hasPage: boolean
  /** Of a link. */
  failure: Error | null
}

function WhySignIn({ session, hasEnded, hasPage, failure }: WhySignInProps) {
  const t = useText()
  const reason = useReason()
  if (failure) {
    // The service refuses a code that it does not accept with 401.
    const isRefused = failure instanceof ApiError && failure.status === 401
    return <p className="notice">{isRefused ? t('signIn.codeRefused') : reason(failure)}</p>
  }
  if (session)
    return session.kind === 'operator' && <p className="notice mild">{t('signIn.another', { name: session.name })}</p>
  if (!hasEnded) return null
  return (
    <p className="notice mild" role="status">
      {t('signIn.ended')} {hasPage && t('signIn.kept')}
    </p>
  )
}

interface SignedProps {
  state: ConsoleState
  warning: ReactNode
  /** Shows the form again, for another token. */
  onSignIn(): void
}

function Signed({ state, warning, onSignIn }: SignedProps) {
  const t = useText()
  const [isSearching, setSearching] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const { subscribe } = useRouter()
  useEffect(() => subscribe('onResolved', () => setOpen(false)), [subscribe])
  const page = useFocusedPage(isSearching)
  return (
    <>
      <a className="skip" href="#page">
        {t('frame.skip')}
      </a>
      <div className="frame" data-open={isOpen || undefined}>
        <header className="bar">
          <button type="button" className="icon menu-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <MenuIcon />
            <span className="hidden">{t('frame.menu')}</span>
          </button>
          <Link to="/" className="brand">
            <Mark />
            {t('frame.name')}
          </Link>
          <button type="button" className="search" onClick={() => setSearching(true)}>
            <SearchIcon />
            <span>{t('palette.open')}</span>
            <kbd>{t('palette.keys')}</kbd>
          </button>
          <Account version={state.version} onSignIn={onSignIn} />
        </header>
        <Side hasDocs={state.docs} />
        <main id="page" ref={page} tabIndex={-1} aria-labelledby={titleId}>
          {warning}
          <Creations />
          <Outlet />
        </main>
      </div>
      <Palette isOpen={isSearching} setOpen={setSearching} />
    </>
  )
}

/**
 * Another page has the focus, unless it gave it to a part of itself: the keyboard and screen readers continue there. The
 * same page has it if what had it is gone, such as the button for the next part of a list.
 */
function useFocusedPage(isElsewhere: boolean) {
  const page = useRef<HTMLElement>(null)
  const { subscribe } = useRouter()
  useEffect(
    () =>
      subscribe('onRendered', ({ fromLocation, pathChanged }) => {
        const { current: main } = page
        const { activeElement: active, body } = document
        if (!main || !fromLocation || isElsewhere || (!pathChanged && active !== body)) return
        if (active !== main && main.contains(active)) return
        // Screen readers read its name when it gets the focus, which it may have from the page before.
        main.blur()
        main.focus({ preventScroll: true })
      }),
    [subscribe, isElsewhere],
  )
  return page
}

function Side({ hasDocs }: { hasDocs: boolean }) {
  const t = useText()
  const session = useSession()
  return (
    <nav className="side" aria-label={t('frame.navigation')}>
      {places(session).map(({ to, name, Icon }) => (
        // The first page is part of every path, and what it shows is in its search.
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          activeProps={{ 'aria-current': 'page' }}
        >
          <Icon />
          {t(name)}
          {to === '/alarms' && <AlarmCount />}
        </Link>
      ))}
      {hasDocs && <a href="/docs">{t('nav.docs')}</a>}
    </nav>
  )
}

function AlarmCount() {
  const t = useText()
  const count = useAlarmCount()
  return (
    count > 0 && (
      <>
        {' '}
        <span className="count" aria-hidden>
          {count}
        </span>
        <span className="hidden">{t('nav.alarmCount', { count })}</span>
      </>
    )
  )
}

/** A link with a code signs in by itself. */
function useCode(): { isTrying: boolean; failure: Error | null; forget(): void } {
  const [isTrying, setTrying] = useState(linkCode !== null)
  const [failure, setFailure] = useState<Error | null>(null)
  useEffect(() => {
    if (linkCode === null) return
    // Once, although React runs effects twice during development. It is tried again like everything that is read.
    exchanging ??= queries.fetchQuery({
      queryKey: ['link'],
      queryFn: () => signIn({ code: linkCode ?? '' }).then(() => true),
    })
    void exchanging.catch(setFailure).finally(() => setTrying(false))
  }, [])
  return { isTrying, failure, forget: () => setFailure(null) }
}

let exchanging: Promise<unknown> | undefined

export function NotFound() {
  const t = useText()
  return (
    <Empty title={t('notFound.title')} text={t('notFound.text')} action={<Link to="/">{t('notFound.home')}</Link>} />
  )
}

const againMs = 5_000

/** What a page shows that failed. The rest of the console goes on, and so does the page when the failure has passed. */
export function Broken({ error, reset }: ErrorComponentProps): ReactNode {
  const t = useText()
  const reason = useReason()
  const router = useRouter()
  const hasSearch = useLocation({ select: ({ search }) => Object.keys(search).length > 0 })
  const tryAgain = useCallback(() => {
    // Undefined if the script of the page could not be loaded: then the router tries again.
    reset?.()
    void router.invalidate()
  }, [reset, router])
  useEffect(() => {
    if (!isPassing(error)) return
    const timer = setTimeout(tryAgain, againMs)
    return () => clearTimeout(timer)
  }, [error, tryAgain])
  // The same request would be refused again.
  const isRefused = error instanceof ApiError && error.status === 400 && hasSearch
  return (
    <Empty
      title={t('broken.title')}
      text={reason(error)}
      action={
        isRefused ? (
          <Link to="." search={{}}>
            {t('broken.withoutFilters')}
          </Link>
        ) : (
          <button type="button" onClick={tryAgain}>
            {t('broken.again')}
          </button>
        )
      }
    />
  )
}
