import type { ApprovalsSetting, OwnerAgent } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { pathOf } from '../../agents/queries.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { useRefreshAgent } from './keys/use-recovery.ts'

interface ApprovalsSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

/** Whether the agent may ask its owner to approve a request. */
export function ApprovalsSection({ did, agent }: ApprovalsSectionProps) {
  const { approvalsEnabled: isOn, status } = agent
  const may = useMay()
  const withRecentSignIn = useRecentSignIn()
  const refresh = useRefreshAgent()
  const toggle = useAction(async () => {
    const body = { enabled: !isOn }
    await withRecentSignIn(() => send<ApprovalsSetting>('PUT', `${pathOf(did)}/approvals`, body))
    await refresh()
    toast(isOn ? 'The agent may not ask any more.' : 'The agent may ask for approvals.')
  })
  return (
    <Section
      title="Approvals"
      lead={
        <>
          Before it does what cannot be undone, the agent can ask you to approve the exact request
          with a passkey.{' '}
          <a href="/docs/approvals" className="text-accent underline">
            How approvals work
          </a>
        </>
      }
    >
      <p>
        {isOn ? (
          <>
            The agent may ask for approvals.{' '}
            {may('manager') && (
              <Link to="/approvals" className="text-accent underline">
                Show approvals
              </Link>
            )}
          </>
        ) : (
          'The agent may not ask for approvals.'
        )}
      </p>
      <ErrorNote error={toggle.error} />
      {status !== 'revoked' && may('manager') && (
        <Button className="self-start" pending={toggle.pending} onClick={() => toggle.run()}>
          {isOn ? 'Turn off approvals' : 'Turn on approvals'}
        </Button>
      )}
    </Section>
  )
}
