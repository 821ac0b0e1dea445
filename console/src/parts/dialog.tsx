import { AlertDialog } from '@base-ui/react/alert-dialog'
import type { ReactNode } from 'react'
import { useText } from '../text.tsx'
import { useDialogAction } from './dialog-action.ts'
import { Failure } from './prose.tsx'

interface Question {
  /** The button that opens it, and the one that does it. */
  action: string
  title: string
  text: string
  /** What else has to be chosen. */
  children?: ReactNode
  /** It destroys nothing. */
  isHarmless?: boolean
  onConfirm(): Promise<unknown>
}

/** A button whose action has to be confirmed. If it fails, the dialog stays open with the reason. */
export function Confirm({ action, title, text, children, isHarmless = false, onConfirm }: Question) {
  const t = useText()
  const look = isHarmless ? undefined : 'danger'
  const { isOpen, isPending, error, onOpenChange, run } = useDialogAction(onConfirm)
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <AlertDialog.Trigger className={look}>{action}</AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title>{title}</AlertDialog.Title>
          <AlertDialog.Description>{text}</AlertDialog.Description>
          {children}
          <Failure error={error} />
          <footer>
            <AlertDialog.Close disabled={isPending}>{t('dialog.back')}</AlertDialog.Close>
            <button type="button" className={look} disabled={isPending} onClick={() => run()}>
              {action}
            </button>
          </footer>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
