import { Dialog } from '@base-ui/react/dialog'
import { type ReactNode, useState } from 'react'
import { ApiError } from '../api.ts'
import { useText } from '../text.tsx'
import { useDialogAction } from './dialog-action.ts'
import { RefusedField, RequiredNote } from './field.tsx'
import { Failure, Prose } from './prose.tsx'

interface FormDialogProps {
  /** The button that opens it, and the one that sends it. */
  action: string
  title: string
  text: string
  /** The fields. */
  children: ReactNode
  onSubmit(form: FormData): Promise<unknown>
  isPrimary?: boolean
  startsOpen?: boolean
  onOpen?(): void
  onClose?(): void
}

/** A button that opens a form. If the service refuses it, the form stays open, with the reason at the field that it is about. */
export function FormDialog(props: FormDialogProps) {
  const { action, title, text, children, onSubmit, isPrimary = false, startsOpen = false, onOpen, onClose } = props
  const { isOpen, isPending, error, onOpenChange, run, reset } = useDialogAction(onSubmit, startsOpen)
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(next) => {
        onOpenChange(next)
        if (next) onOpen?.()
        else if (!isPending) onClose?.()
      }}
    >
      <Dialog.Trigger className={isPrimary ? 'primary' : undefined}>{action}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <Dialog.Description>
            <Prose text={text} />
          </Dialog.Description>
          <DialogForm {...{ action, error, isPending, run }} onChange={reset}>
            {children}
          </DialogForm>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface DialogFormProps extends Pick<FormDialogProps, 'action' | 'children'> {
  error: Error | null
  isPending: boolean
  run(form: FormData): void
  /** What was refused is about values that are no longer there. */
  onChange(): void
}

function DialogForm({ action, children, error, isPending, run, onChange }: DialogFormProps) {
  const t = useText()
  const [names, setNames] = useState<readonly string[]>([])
  const param = error instanceof ApiError ? error.param : null
  const refused =
    error && param !== null && names.includes(param) ? { name: param, why: reasonAt(error.message) } : null
  return (
    <form
      className="fields"
      onChange={() => error && onChange()}
      onSubmit={(event) => {
        event.preventDefault()
        const form = new FormData(event.currentTarget)
        setNames([...form.keys()])
        run(form)
      }}
    >
      <RefusedField value={refused}>{children}</RefusedField>
      {!refused && <Failure error={error} />}
      <footer>
        <RequiredNote />
        <Dialog.Close disabled={isPending}>{t('dialog.cancel')}</Dialog.Close>
        <button type="submit" className="primary" disabled={isPending}>
          {action}
        </button>
      </footer>
    </form>
  )
}

/** `accounts.main.key: it is missing; send …` begins with a place in filmgate.yaml, which is the field itself here. */
function reasonAt(message: string): string {
  const reason = message.replace(/^\w+\.[^\s:]+: /, '')
  return reason.charAt(0).toUpperCase() + reason.slice(1)
}

/** What was typed into a field; undefined if it is empty. */
export function typedIn(form: FormData, name: string): string | undefined {
  const text = form.get(name)
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}
