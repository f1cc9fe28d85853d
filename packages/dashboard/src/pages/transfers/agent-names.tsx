import type { Transfer } from '@countersign/protocol'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { cardQuery } from './queries.ts'
import { agentCount } from './texts.ts'

/** As many agents are named. A transfer has up to 200. */
const NAMED = 20

interface AgentNamesProps {
  readonly transfer: Pick<Transfer, 'dids' | 'agents'>
}

/** The agents of a transfer, folded if there are several. */
export function AgentNames({ transfer: { dids, agents } }: AgentNamesProps) {
  const [isOpen, setOpen] = useState(false)
  if (dids.length === 0) return null
  if (dids.length === 1) return <Names dids={dids} />
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="w-fit cursor-pointer py-1 text-accent text-sm">
        Show the {agentCount(agents)}
      </summary>
      {isOpen && <Names dids={dids} />}
    </details>
  )
}

/** Names the agents as their owner named them, with the DID in small print. */
function Names({ dids }: { readonly dids: readonly string[] }) {
  const shown = dids.slice(0, NAMED)
  const cards = useQueries({ queries: shown.map(cardQuery) })
  return (
    <ul className="flex max-h-60 flex-col gap-2 overflow-y-auto">
      {shown.map((did, index) => {
        const card = cards[index]?.data
        return (
          <li key={did} className="min-w-0">
            {card && (
              <p className="wrap-anywhere">
                <a href={card.certificateUrl} className="text-accent underline">
                  {card.displayName}
                </a>{' '}
                · grade {card.grade}
              </p>
            )}
            <p className="wrap-anywhere font-mono text-soft text-xs">{did}</p>
          </li>
        )
      })}
      {dids.length > NAMED && <li>and {agentCount(dids.length - NAMED)} more</li>}
    </ul>
  )
}
