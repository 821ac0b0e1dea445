import { useEffect, useState } from 'react'

/** The text once it has not changed for this long: while somebody types, nothing is sent. */
export function useSettled(text: string, typingMs: number): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs)
    return () => clearTimeout(timer)
  }, [text, typingMs])
  return settled
}
