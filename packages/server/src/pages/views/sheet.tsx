import type { AgentStatus } from '@countersign/protocol'
import type { ReactNode } from 'react'

const EDGES: Readonly<Record<AgentStatus, string>> = {
  active: 'border-line-strong',
  suspended: 'border-warn',
  revoked: 'border-bad',
}

export interface SheetProps {
  readonly status?: AgentStatus
  readonly children: ReactNode
}

/** The paper sheet and frame of a certificate. */
export function Sheet({ status = 'active', children }: SheetProps) {
  return (
    <div className={`rounded-2xl border-2 bg-surface p-1.5 sm:p-2 ${EDGES[status]}`}>
      <div className={`overflow-hidden rounded-lg border ${EDGES[status]}`}>{children}</div>
    </div>
  )
}

export interface ClauseProps {
  readonly id: string
  readonly title: string
  readonly children: ReactNode
}

/** A section of a sheet: its title on the left, its content on the right. */
export function Clause({ id, title, children }: ClauseProps) {
  return (
    <section
      aria-labelledby={id}
      className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-3 border-t border-line px-5 py-5 sm:px-10 sm:py-6 md:grid-cols-[11rem_minmax(0,1fr)]"
    >
      <h2 id={id} className="text-xl/7 font-semibold tracking-tight text-balance">
        {title}
      </h2>
      <div className="min-w-0 space-y-4">{children}</div>
    </section>
  )
}
