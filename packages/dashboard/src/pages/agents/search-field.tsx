import { useEffect, useRef, useState } from 'react'
import { TextField } from '../../parts/field.tsx'

interface SearchFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

const PAUSE_MS = 250

/** Says what is searched for once the person pauses. */
export function SearchField({ value, onChange }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const said = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  // The address has changed by itself: the way back, or a filter that was cleared. What is being typed stays.
  useEffect(() => {
    if (value === said.current) return
    said.current = value
    setText(value)
  }, [value])

  useEffect(() => () => clearTimeout(timer.current), [])

  function type(now: string) {
    setText(now)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      said.current = now.trim()
      onChange(said.current)
    }, PAUSE_MS)
  }

  return (
    <TextField
      type="search"
      label="Search"
      placeholder="Name, label, description or DID"
      value={text}
      onChange={(event) => type(event.target.value)}
      maxLength={128}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
