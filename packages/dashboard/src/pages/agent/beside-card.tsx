import type { OwnerAgent } from '@countersign/protocol'
import { AgentCard } from '@countersign/ui'
import { type ReactNode, useId } from 'react'

interface BesideCardProps {
  readonly title: string
  readonly card: OwnerAgent
  readonly picture?: string | null
  readonly children: ReactNode
}

/** Content beside the agent's public card; on narrow screens above it. */
export function BesideCard({ title, card, picture, children }: BesideCardProps) {
  const id = useId()
  return (
    <div className="grid items-start gap-8 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-8">{children}</div>
      <section aria-labelledby={id} className="flex flex-col gap-3 lg:sticky lg:top-8">
        <h2 id={id} className="text-soft">
          {title}
        </h2>
        <AgentCard card={card} {...(picture && { picture })} />
      </section>
    </div>
  )
}
