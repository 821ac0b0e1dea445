import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'

/**
 * What a dialog does, once at a time. Until its request has ended, the dialog stays open: closing it would not stop the
 * request, and the dialog could be opened and confirmed again. It closes after a success.
 */
export function useDialogAction<Input = void>(act: (input: Input) => Promise<unknown>, startsOpen = false) {
  const [isOpen, setOpen] = useState(startsOpen)
  // `isPending` is one render late for a second click.
  const isRunning = useRef(false)
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: act,
    onSuccess: () => setOpen(false),
    onSettled: () => {
      isRunning.current = false
    },
  })
  return {
    isOpen,
    isPending,
    error,
    reset,
    onOpenChange(next: boolean): void {
      if (isRunning.current) return
      setOpen(next)
      reset()
    },
    run(input: Input): void {
      if (isRunning.current) return
      isRunning.current = true
      mutate(input)
    },
  }
}
