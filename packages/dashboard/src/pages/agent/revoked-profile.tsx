import type { AgentPatch, OwnerAgent } from '@countersign/protocol'
import { pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'

interface RevokedProfileProps {
  readonly did: string
  readonly agent: OwnerAgent
}

const TEXTS = [
  ['displayName', 'name'],
  ['description', 'description'],
] as const satisfies readonly (readonly [keyof AgentPatch, string])[]

/** Lets owners remove texts and picture of a revoked agent. Nothing can be added. */
export function RevokedProfile({ did, agent }: RevokedProfileProps) {
  const cache = useAgentCache(did)
  const removing = useAction(async (what: string, change: () => Promise<OwnerAgent>) => {
    cache.put(await change())
    toast(`The ${what} is taken away.`)
  })
  const texts = TEXTS.filter(([key]) => agent.profile[key] !== null)
  const nothing = texts.length === 0 && !agent.hasAvatar

  return (
    <Section
      title="What it still says"
      lead={
        nothing
          ? 'The certificate says nothing but its DID, its key and that it is revoked.'
          : 'The page of a revoked certificate stays. What you wrote on it can be taken away; nothing can be added.'
      }
    >
      {!nothing && (
        <div className="flex flex-wrap gap-3">
          {texts.map(([key, what]) => (
            <Button
              key={key}
              size="small"
              pending={removing.pending}
              onClick={() =>
                removing.run(what, () => send<OwnerAgent>('PATCH', pathOf(did), { [key]: null }))
              }
            >
              Take away the {what}
            </Button>
          ))}
          {agent.hasAvatar && (
            <Button
              size="small"
              pending={removing.pending}
              onClick={() =>
                removing.run('picture', () => send<OwnerAgent>('DELETE', `${pathOf(did)}/avatar`))
              }
            >
              Take away the picture
            </Button>
          )}
        </div>
      )}
      <ErrorNote error={removing.error} />
    </Section>
  )
}
