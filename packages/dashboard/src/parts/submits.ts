import type { FormEvent } from 'react'

/** For `onSubmit` of a form that this page sends itself. */
export function submits(act: () => void) {
  return (event: FormEvent): void => {
    event.preventDefault()
    act()
  }
}
