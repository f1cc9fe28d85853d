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
    toast(`The ${what} was removed.`)
  })
  const texts = TEXTS.filter(([key]) => agent.profile[key] !== null)
  const isEmpty = texts.length === 0 && !agent.hasAvatar

  return (
    <Section
      title="Public profile"
      lead={
        isEmpty
          ? 'You removed the texts and the picture. The certificate page stays public, with the revocation, the DID and your name.'
          : 'The page of a revoked certificate stays public. You can remove your texts and the picture, but add nothing.'
      }
    >
      {!isEmpty && (
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
              Remove the {what}
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
              Remove the picture
            </Button>
          )}
        </div>
      )}
      <ErrorNote error={removing.error} />
    </Section>
  )
}
