import { type ReactNode, useId } from 'react'

interface ChoiceProps {
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly label: string
  /** Shared by the choices of a group, so that the arrow keys move between them. */
  readonly group?: string
  /** The effects. */
  readonly children: ReactNode
}

/** A radio button with a label and a text below it. */
export function Choice({ isChosen, onChoose, label, group, children }: ChoiceProps) {
  const id = useId()
  return (
    <label className="flex cursor-pointer items-start gap-3 py-2">
      <input
        type="radio"
        name={group}
        checked={isChosen}
        onChange={onChoose}
        aria-labelledby={`${id}-label`}
        aria-describedby={`${id}-effects`}
        className="mt-1 size-4.5 shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <span id={`${id}-label`} className="block font-medium">
          {label}
        </span>
        <span id={`${id}-effects`} className="block text-pretty text-soft text-sm">
          {children}
        </span>
      </span>
    </label>
  )
}
