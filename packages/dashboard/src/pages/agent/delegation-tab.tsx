import type { DelegationPermission, OwnDelegationsEnded } from '@countersign/protocol'
import { useState } from 'react'
import { levels } from '../../agents/levels.ts'
import { pathOf } from '../../agents/queries.ts'
import { useService } from '../../agents/use-service.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { Choice } from '../../components/choice.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { useAgent } from './agent-tabs.ts'
import { DelegationGroups } from './delegation-groups.tsx'
import { Events } from './history.tsx'
import { useRefreshAgent } from './keys/use-recovery.ts'

/** How far the agent may delegate, the end of all its delegations, and what changed. */
export function DelegationTab() {
  const { did, agent } = useAgent()
  const { maxDelegationDepth, status } = agent
  const may = useMay()
  const isRevoked = status === 'revoked'
  const isAllowed = maxDelegationDepth > 0
  return (
    <div className="flex max-w-3xl flex-col gap-8">
      <Section
        title="Delegation"
        lead={
          <>
            With its key, an agent can give other keys a narrow right to send requests in its name,
            for at most 24 hours.{' '}
            <a href="/docs/delegation" className="text-accent underline">
              How delegation works
            </a>
          </>
        }
      >
        {isRevoked && <p>This agent is revoked, so it cannot delegate.</p>}
        {!isRevoked && may('manager') && (
          <DepthForm key={maxDelegationDepth} did={did} current={maxDelegationDepth} />
        )}
        {!isRevoked && !may('manager') && (
          <p>
            <span className="font-medium">{DEPTHS[maxDelegationDepth]?.label}.</span>{' '}
            {DEPTHS[maxDelegationDepth]?.effect}
          </p>
        )}
      </Section>
      {isAllowed && <CommandSection />}
      {isAllowed && <DelegationGroups did={did} />}
      {isAllowed && may('responder') && <EndSection did={did} name={agent.displayName} />}
      <Section title="History" lead="Changes of delegation, newest first.">
        <Events did={did} type="agent.delegation_changed" />
      </Section>
    </div>
  )
}

/** By depth. */
const DEPTHS = [
  { label: 'Not allowed', effect: 'Only the agent’s own key can act for it.' },
  { label: '1 level', effect: 'The agent can delegate. Its delegates cannot delegate further.' },
  { label: '2 levels', effect: 'Delegates of the agent can delegate once more.' },
  { label: '3 levels', effect: 'Delegates of those delegates can delegate once more, too.' },
]

interface DepthFormProps {
  readonly did: string
  readonly current: number
}

function DepthForm({ did, current }: DepthFormProps) {
  const [depth, setDepth] = useState(current)
  const withRecentSignIn = useRecentSignIn()
  const refresh = useRefreshAgent()
  const isLower = depth < current

  const save = useAction(async () => {
    if (depth === current) return
    const body = { maxDepth: depth }
    await withRecentSignIn(() =>
      send<DelegationPermission>('PUT', `${pathOf(did)}/delegation`, body),
    )
    await refresh()
    toast(
      depth === 0
        ? 'The agent may no longer delegate.'
        : `The agent may delegate up to ${levels(depth)}.`,
    )
  })

  return (
    <form onSubmit={submitHandler(save.run)} className="flex flex-col items-start gap-4">
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">How far may the agent delegate?</legend>
        {DEPTHS.map(({ label, effect }, each) => (
          <Choice
            key={label}
            isChosen={depth === each}
            onChoose={() => setDepth(each)}
            label={label}
          >
            {effect}
          </Choice>
        ))}
      </fieldset>
      {isLower && (
        <Note tone="warn">
          <p>Saving this ends all delegations of the agent at once.</p>
        </Note>
      )}
      <ErrorNote error={save.error} />
      <Button type="submit" variant="primary" pending={save.pending} disabled={depth === current}>
        {isLower ? 'Save and end all delegations' : 'Save'}
      </Button>
    </form>
  )
}

/** The command with which the holder of the agent's key delegates. */
function CommandSection() {
  const { baseUrl, cliPackage } = useService()
  return (
    <Section
      title="Delegate"
      lead="Run this where the agent has its key. It prints a chain, which the delegate sends with each request."
    >
      <CopyField
        label="Command for the agent"
        value={`npx -y ${cliPackage} delegate \\
  --to <public key of the delegate> \\
  --origin https://shop.example \\
  --ttl 1h \\
  --url ${baseUrl}`}
        lines
      />
    </Section>
  )
}

interface EndSectionProps {
  readonly did: string
  readonly name: string
}

function EndSection({ did, name }: EndSectionProps) {
  const [open, setOpen] = useState(false)
  const refresh = useRefreshAgent()

  async function end() {
    await send<OwnDelegationsEnded>('POST', `${pathOf(did)}/delegation/end`)
    await refresh()
    toast('All delegations ended.')
  }

  return (
    <Section
      title="End all delegations"
      lead="End them if a delegate misbehaves or its key was stolen. The agent itself stays active."
    >
      <Button variant="warning" className="self-start" onClick={() => setOpen(true)}>
        End all delegations …
      </Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={`End all delegations of ${name}?`}
        action="End all delegations"
        danger
        onConfirm={end}
      >
        <ul className="list-disc space-y-1.5 pl-5 text-pretty">
          <li>Sites refuse every delegate of this agent: at once, or after a few seconds.</li>
          <li>The agent gets a new certificate by itself. It can delegate again with that.</li>
          <li>
            To stop one delegate only, end its group. If it has none, end all, and let the agent
            delegate to the others again.
          </li>
        </ul>
      </ConfirmDialog>
    </Section>
  )
}
