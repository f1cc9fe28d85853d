import type { OwnerAgent, OwnerApproval, SessionState } from '@countersign/protocol'
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { AGENTS_KEY, pathOf as pathOfAgent } from '../../agents/queries.ts'
import { organisation } from '../../api/acting-for.ts'
import { BrowserError } from '../../api/browser-errors.ts'
import { ApiError, send } from '../../api/client.ts'
import { approveWithPasskey } from '../../api/passkeys.ts'
import { passkeysUnavailableReason } from '../../api/passkeys-available.ts'
import { sessionQuery } from '../../api/queries.ts'
import { APPROVALS_KEY, approvalQuery, pathOf } from '../../approvals/queries.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, errorMessage, Note } from '../../components/error-note.tsx'
import { CheckField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { challengeOf, type ShownRequest, siteOf } from './shown-request.ts'

interface DecisionFormProps {
  readonly shown: ShownRequest
  /** The first approval of this agent for the site. */
  readonly isFirstForOrigin: boolean
}

/** The buttons below a request, after everything that they are about. */
export function DecisionForm({ shown, isFirstForOrigin }: DecisionFormProps) {
  const session = useSuspenseQuery(sessionQuery).data
  const decide = useDecide(shown.id)
  const [isKnown, setKnown] = useState(false)
  const box = useRef<HTMLInputElement>(null)
  const site = siteOf(shown.url)
  const unavailable = reasonNotToApprove(session, shown)

  const approve = useAction(() =>
    decide('Approved once.', async () => {
      if (isFirstForOrigin && !isKnown) {
        box.current?.focus()
        throw new BrowserError(`If you know ${site}, tick the box. Otherwise deny the request.`)
      }
      return approveWithPasskey(shown.id, challengeOf(shown, session.service.shortName))
    }),
  )
  const deny = useAction((turnOff: boolean) =>
    decide(turnOff ? 'Denied. The agent may not ask any more.' : 'Denied.', () =>
      send<OwnerApproval>('POST', `${pathOf(shown.id)}/deny`, { turnOff }),
    ),
  )
  const suspend = useAction(() =>
    decide('Agent suspended.', async () => {
      await send<OwnerAgent>('POST', `${pathOfAgent(shown.agent)}/suspend`, { reason: null })
      return null
    }),
  )
  const isBusy = approve.pending || deny.pending || suspend.pending
  const error = approve.error ?? deny.error ?? suspend.error

  return (
    <form onSubmit={submitHandler(approve.run)} className="flex flex-col gap-3">
      {unavailable === null ? (
        <>
          <p className="text-pretty">
            Your passkey signs exactly this. If an amount or a recipient is missing or wrong, deny
            the request.
          </p>
          {isFirstForOrigin && (
            <CheckField
              ref={box}
              checked={isKnown}
              onChange={({ target }) => setKnown(target.checked)}
              label={
                <span className="wrap-anywhere">
                  I know <strong className="font-semibold">{site}</strong>. This is the first
                  approval of this agent for it.
                </span>
              }
            />
          )}
        </>
      ) : (
        <Note tone="warn">
          <p>{unavailable}</p>
        </Note>
      )}
      <ErrorNote error={error} />
      {isPasskeyMissing(error) && <PasskeyLink />}
      {unavailable === null && (
        <Button type="submit" variant="primary" pending={approve.pending} disabled={isBusy}>
          Approve with passkey
        </Button>
      )}
      <Button pending={deny.pending} disabled={isBusy} onClick={() => deny.run(false)}>
        Deny
      </Button>
      <div className="flex flex-wrap gap-3 border-line border-t pt-4 *:grow">
        <Button variant="warning" disabled={isBusy} onClick={() => deny.run(true)}>
          Deny and turn off
        </Button>
        <Button
          variant="warning"
          pending={suspend.pending}
          disabled={isBusy}
          onClick={() => suspend.run()}
        >
          Suspend agent
        </Button>
      </div>
      <p className="text-pretty text-soft text-sm">
        Turn off: the agent may not ask again until you allow it. Suspend: sites refuse the agent
        until you reactivate it.
      </p>
    </form>
  )
}

/** @returns runs a decision, shows its result, and says so if another page was faster */
function useDecide(id: string) {
  const queries = useQueryClient()
  const { queryKey } = approvalQuery(id)
  /** @param act gives the approval; null: it is to be loaded again */
  return async (done: string, act: () => Promise<OwnerApproval | null>): Promise<void> => {
    try {
      const approval = await act()
      if (approval !== null) queries.setQueryData(queryKey, approval)
      toast(done)
    } catch (error) {
      if (!(error instanceof ApiError && ENDED.has(error.code))) throw error
      toast(errorMessage(error))
    }
    await Promise.all([
      queries.invalidateQueries({ queryKey: APPROVALS_KEY }),
      queries.invalidateQueries({ queryKey: AGENTS_KEY }),
    ])
  }
}

/** The approval was decided, expired or cancelled while the page showed it as pending. */
const ENDED: ReadonlySet<ApiError['code']> = new Set([
  'CONFLICT',
  'TOKEN_EXPIRED',
  'AGENT_NOT_ACTIVE',
])

/** Why the person can only deny, as a sentence; null if they can approve. */
export function reasonNotToApprove(
  { service, person }: SessionState,
  { fault }: ShownRequest,
): string | null {
  if (fault !== null) return `This request cannot be approved. ${fault}`
  if (person?.limited) {
    return 'You signed in through your organisation, which is enough to deny. To approve, sign in with a passkey of your own.'
  }
  return passkeysUnavailableReason(service)
}

export function isPasskeyMissing(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'FORBIDDEN'
}

/** Passkeys belong to the person, also on the pages of an organisation. */
export function PasskeyLink() {
  const text = 'Show your passkeys'
  const className = 'w-fit text-accent underline'
  return organisation === null ? (
    <Link to="/account/security" className={className}>
      {text}
    </Link>
  ) : (
    <a href="/dashboard/account/security" className={className}>
      {text}
    </a>
  )
}
