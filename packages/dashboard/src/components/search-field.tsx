import { useEffect, useRef, useState } from 'react'
import { TextField } from './field.tsx'

interface SearchFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

const PAUSE_MS = 250

/** Searches agents. Reports the text when the user stops typing. */
export function SearchField({ value, onChange }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const reported = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  // The URL changed by navigation or a cleared filter. Text that is being typed is kept.
  useEffect(() => {
    if (value === reported.current) return
    reported.current = value
    setText(value)
  }, [value])

  useEffect(() => () => clearTimeout(timer.current), [])

  function onType(next: string) {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      reported.current = next.trim()
      onChange(reported.current)
    }, PAUSE_MS)
  }

  return (
    <TextField
      type="search"
      label="Search"
      placeholder="Name, label, description or DID"
      value={text}
      onChange={(event) => onType(event.target.value)}
      maxLength={128}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
