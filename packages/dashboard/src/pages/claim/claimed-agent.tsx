import { AgentCard } from '@countersign/ui'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { agentQuery } from '../../agents/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import type { Making } from './use-claim-token.ts'

interface ClaimedAgentProps {
  readonly did: string
  readonly making: Making
}

export function ClaimedAgent({ did, making }: ClaimedAgentProps) {
  const { data: agent, error, isPending, refetch } = useQuery(agentQuery(did))

  return (
    <section
      aria-labelledby="claimed-agent"
      className="grid items-center gap-8 rounded-2xl border-2 border-good bg-good-wash p-5 sm:p-8 lg:grid-cols-[minmax(0,1fr)_24rem]"
    >
      <div className="flex flex-col items-start gap-4">
        <h2 id="claimed-agent" className="font-semibold text-2xl tracking-tight">
          Your agent has its certificate
        </h2>
        <p className="text-pretty">
          The token is used up.{' '}
          {agent && (
            <>
              You labelled the agent <strong className="wrap-anywhere">{agent.agentId}</strong>.
            </>
          )}{' '}
          Give it a name and a face next, so that people know whom they meet.
        </p>
        <code className="font-mono text-sm wrap-anywhere">{did}</code>
        <div className="flex flex-wrap gap-3">
          <Link to="/agents/$did" params={{ did }} className={buttonClass('primary')}>
            Open its profile
          </Link>
          <Button pending={making.pending} onClick={making.run}>
            Claim another agent
          </Button>
        </div>
        <ErrorNote
          error={making.error ?? error}
          onRetry={error ? () => void refetch() : undefined}
        />
      </div>
      {isPending && (
        <>
          <Loading what="the agent" />
          <Skeleton className="h-64 rounded-xl" />
        </>
      )}
      {agent && <AgentCard card={agent} />}
    </section>
  )
}
