import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { Field } from '../parts/field.tsx'
import { Prose, useReason } from '../parts/prose.tsx'
import { signIn } from '../session.tsx'
import { useText } from '../text.tsx'
import { Mark } from './icons.tsx'

interface SignInProps {
  /** Then they may go back. */
  isSignedIn: boolean
  onEnd(): void
  /** Why they should sign in. An error of the form takes its place. */
  children: ReactNode
}

/** In place of the page, or above it. The address stays, and its page is shown afterwards. */
export function SignIn({ isSignedIn, onEnd, children }: SignInProps) {
  const t = useText()
  const reason = useReason()
  const { mutate, error, isPending } = useMutation({ mutationFn: signIn, onSuccess: onEnd })
  return (
    <main className="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutate({ token: String(new FormData(event.currentTarget).get('token')).trim() })
        }}
      >
        <Mark />
        <h1>{t('signIn.title')}</h1>
        {!error && children}
        <Field
          label={t('signIn.token')}
          name="token"
          type="password"
          autoComplete="current-password"
          required
          hint={t('signIn.hint')}
          error={error ? reason(error).replace(unknownKey, t('signIn.unknown')) : undefined}
        />
        <button type="submit" className="primary" disabled={isPending}>
          {t('signIn.submit')}
        </button>
        {isSignedIn && (
          <button type="button" onClick={onEnd}>
            {t('dialog.back')}
          </button>
        )}
        <p className="quiet">
          <Prose text={t('signIn.lost')} />
        </p>
      </form>
    </main>
  )
}

/** The API says it as OpenAI does. The form calls it a token. */
const unknownKey = 'Incorrect API key provided.'

/** Covers the page, also its dialogs, and keeps the keyboard away from it. */
export function Above({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = place.current
    dialog?.showModal()
    // The focus goes back to where it was.
    return () => dialog?.close()
  }, [])
  // A browser closes it at the second Escape, whatever the page does at the first one.
  return (
    <dialog
      ref={place}
      className="form-above"
      onCancel={(event) => event.preventDefault()}
      onClose={({ currentTarget }) => currentTarget.isConnected && currentTarget.showModal()}
    >
      {children}
    </dialog>
  )
}
