import type { OwnerAgent } from '@countersign/protocol'
import { AgentCard } from '@countersign/ui'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { agentQuery, pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { send } from '../../api/client.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { displayNameError } from '../../components/validate-names.ts'
import type { Creating } from './use-claim-tokens.ts'

interface ClaimedAgentProps {
  readonly did: string
  readonly creating: Creating
}

/** The new agent, with a form for its name. */
export function ClaimedAgent({ did, creating }: ClaimedAgentProps) {
  const { data: agent, error, isPending, refetch } = useQuery(agentQuery(did))

  return (
    <section
      aria-labelledby="claimed-agent"
      className="grid items-center gap-8 rounded-2xl border-2 border-good bg-good-wash p-5 sm:p-8 lg:grid-cols-[minmax(0,1fr)_24rem]"
    >
      <div className="flex min-w-0 flex-col items-start gap-4">
        <h2 id="claimed-agent" className="font-semibold text-2xl tracking-tight">
          Your agent has its certificate
        </h2>
        {agent?.profile.displayName === null && <NameForm did={did} />}
        <div className="flex flex-wrap gap-3">
          <Link
            to="/agents/$did"
            params={{ did }}
            className={buttonClass(agent?.profile.displayName ? 'primary' : 'secondary')}
          >
            Open the agent
          </Link>
          <Button pending={creating.pending} onClick={() => creating.run(1)}>
            Claim another agent
          </Button>
        </div>
        <ErrorNote
          error={creating.error ?? error}
          onRetry={error ? () => void refetch() : undefined}
        />
      </div>
      {isPending && (
        <>
          <Loading what="the agent" />
          <Skeleton className="h-64 rounded-xl" />
        </>
      )}
      {agent && (
        <div className="relative flex flex-col gap-3">
          <AgentCard card={agent} />
          {/* The whole card is clickable, but only the text is the link, for a short accessible name. */}
          <a
            href={agent.certificateUrl}
            className="self-start text-accent underline underline-offset-4 after:absolute after:inset-0 hover:text-accent-strong"
          >
            Open the certificate
          </a>
        </div>
      )}
    </section>
  )
}

function NameForm({ did }: { readonly did: string }) {
  const [name, setName] = useState('')
  const cache = useAgentCache(did)
  const error = name.trim() === '' ? null : displayNameError(name.trim())
  const ready = name.trim() !== '' && error === null
  const saving = useAction(async () => {
    if (!ready) return
    cache.put(await send<OwnerAgent>('PATCH', pathOf(did), { displayName: name.trim() }))
    toast('Name saved. The certificate shows it now.')
  })
  return (
    <form
      onSubmit={submitHandler(saving.run)}
      className="flex w-full max-w-md flex-col items-start gap-3"
    >
      <div className="w-full">
        <TextField
          label="Display name"
          hint="Everyone sees it on the certificate. You can change it later."
          error={error}
          value={name}
          onChange={({ target }) => setName(target.value)}
          autoComplete="off"
        />
      </div>
      <ErrorNote error={saving.error} />
      <Button type="submit" variant="primary" pending={saving.pending} disabled={!ready}>
        Save name
      </Button>
    </form>
  )
}
