import type { AgentStatus } from '@countersign/protocol'
import { StatusIcon } from '@countersign/ui'
import type { ReactNode } from 'react'

export interface VerdictProps {
  /** `plain`: neither good nor bad, such as a question that cannot be read. */
  readonly tone: AgentStatus | 'plain'
  readonly title: string
  readonly children?: ReactNode
}

const TONES: Readonly<Record<VerdictProps['tone'], string>> = {
  active: 'bg-good-wash text-good',
  suspended: 'bg-warn-wash text-warn',
  revoked: 'bg-bad text-on-bad',
  plain: 'bg-sunken text-ink',
}

/** An answer that nobody can miss. */
export function Verdict({ tone, title, children }: VerdictProps) {
  return (
    <div role="status" className={`flex items-start gap-4 rounded-xl px-5 py-5 ${TONES[tone]}`}>
      {tone !== 'plain' && <StatusIcon status={tone} className="size-10 shrink-0" />}
      <div className="min-w-0">
        <p className="text-2xl/8 font-bold tracking-tight text-balance wrap-anywhere">{title}</p>
        {children !== undefined && <p className="mt-1 text-pretty wrap-anywhere">{children}</p>}
      </div>
    </div>
  )
}
