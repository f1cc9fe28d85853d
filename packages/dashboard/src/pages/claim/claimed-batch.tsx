import type { OwnerAgent } from '@countersign/protocol'
import { useQueries, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { AGENTS_KEY, agentQuery, pathOf } from '../../agents/queries.ts'
import { send } from '../../api/client.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { Loading } from '../../components/skeleton.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { displayNameError } from '../../components/validate-names.ts'
import type { Creating } from './use-claim-tokens.ts'

interface ClaimedBatchProps {
  readonly dids: readonly string[]
  /** The number of tokens. If it is higher, the others have expired. */
  readonly size: number
  readonly creating: Creating
}

/** The end of a batch: its agents, with a form for their names. */
export function ClaimedBatch({ dids, size, creating }: ClaimedBatchProps) {
  const expired = size - dids.length
  return (
    <Section
      title={
        expired > 0 ? `${dids.length} of ${size} agents claimed` : `All ${size} agents claimed`
      }
      lead={
        expired > 0
          ? `They have their certificates. The other ${expired === 1 ? 'token has' : `${expired} tokens have`} expired.`
          : 'They have their certificates.'
      }
    >
      <div className="flex flex-wrap gap-3">
        <Link to="/agents" className={buttonClass()}>
          Show the agents
        </Link>
        <Button pending={creating.pending} onClick={() => creating.run(size)}>
          Create another batch
        </Button>
      </div>
      <ErrorNote error={creating.error} />
      <Names dids={dids} />
    </Section>
  )
}

function Names({ dids }: Pick<ClaimedBatchProps, 'dids'>) {
  const queries = useQueryClient()
  const agents = useQueries({ queries: dids.map(agentQuery) })
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const nameOf = (did: string) => (typed[did] ?? '').trim()
  const named = dids.filter((did) => nameOf(did) !== '')
  const errorOf = (did: string) => (nameOf(did) === '' ? null : displayNameError(nameOf(did)))
  const ready = named.length > 0 && named.every((did) => errorOf(did) === null)

  const saving = useAction(async () => {
    if (!ready) return
    for (const did of named) {
      const body = { displayName: nameOf(did) }
      const agent = await send<OwnerAgent>('PATCH', pathOf(did), body)
      queries.setQueryData(agentQuery(did).queryKey, agent)
      setTyped(({ [did]: _, ...others }) => others)
    }
    await queries.invalidateQueries({
      queryKey: AGENTS_KEY,
      predicate: (query) => query.queryKey[1] !== 'one',
    })
    toast(named.length === 1 ? '1 name saved.' : `${named.length} names saved.`)
  })

  return (
    <form
      onSubmit={submitHandler(saving.run)}
      aria-labelledby="names"
      className="flex flex-col gap-4 border-line border-t pt-5"
    >
      <h3 id="names" className="font-semibold text-lg">
        Name your agents
      </h3>
      <p className="max-w-2xl text-pretty text-soft">
        Everyone sees the name on the certificate. The label was chosen at the claim.
      </p>
      <ul className="grid gap-x-6 gap-y-4 sm:grid-cols-2">
        {dids.map((did, index) => {
          const agent = agents[index]?.data
          if (agent === undefined) {
            return (
              <li key={did}>
                <Loading what="an agent" />
              </li>
            )
          }
          const { displayName } = agent.profile
          return (
            <li key={did}>
              <TextField
                label={displayName ?? agent.displayName}
                hint={`Label: ${agent.agentId}`}
                error={errorOf(did)}
                value={typed[did] ?? ''}
                placeholder={displayName === null ? 'Name' : 'Another name'}
                onChange={({ target }) => setTyped({ ...typed, [did]: target.value })}
                autoComplete="off"
              />
            </li>
          )
        })}
      </ul>
      <ErrorNote error={saving.error} />
      <Button
        type="submit"
        variant="primary"
        className="self-start"
        pending={saving.pending}
        disabled={!ready}
      >
        Save names
      </Button>
    </form>
  )
}
