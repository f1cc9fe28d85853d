import type { ReactNode } from 'react'

export interface KeyValueProps {
  readonly name: string
  readonly children: ReactNode
}

/** A name and a value in a `<dl>`. */
export function KeyValue({ name, children }: KeyValueProps) {
  return (
    <div className="min-w-0">
      <dt className="text-sm text-soft">{name}</dt>
      <dd className="mt-0.5 text-ink wrap-anywhere">{children}</dd>
    </div>
  )
}
