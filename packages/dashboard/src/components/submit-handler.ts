import type { FormEvent } from 'react'

/** An `onSubmit` handler for forms that are sent by script. */
export function submitHandler(act: () => void) {
  return (event: FormEvent): void => {
    event.preventDefault()
    act()
  }
}
