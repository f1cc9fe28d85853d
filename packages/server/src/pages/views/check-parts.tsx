import type { AgentStatus } from '@countersign/protocol'
import { StatusIcon } from '@countersign/ui'
import type { ReactNode } from 'react'

const TABS = [
  { path: '/check', title: 'Agent' },
  { path: '/check/request', title: 'Signed request' },
  { path: '/console', title: 'Gateway policy' },
] as const

/** Leads from one check page to the other. */
export function CheckTabs({ path }: { readonly path: (typeof TABS)[number]['path'] }) {
  return (
    <nav aria-label="What to check" className="flex flex-wrap gap-x-5 border-b border-line">
      {TABS.map((tab) => (
        <a
          key={tab.path}
          href={tab.path}
          aria-current={tab.path === path ? 'page' : undefined}
          className={`-mb-px border-b-2 py-2 whitespace-nowrap ${tab.path === path ? 'border-accent font-medium text-accent' : 'border-transparent hover:text-accent'}`}
        >
          {tab.title}
        </a>
      ))}
    </nav>
  )
}

/** Something to know before going on. */
export function Note({ children }: { readonly children: ReactNode }) {
  return (
    <p role="status" className="rounded-lg bg-warn-wash px-4 py-3 text-warn">
      {children}
    </p>
  )
}

export interface VerdictProps {
  /** `plain`: neither good nor bad, such as input that cannot be parsed. */
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

/** A prominent result. */
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
