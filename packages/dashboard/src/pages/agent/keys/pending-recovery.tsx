import type { AgentKeys } from '@countersign/protocol'
import { useState } from 'react'
import { useService } from '../../../agents/use-service.ts'
import { useMay } from '../../../api/use-may.ts'
import { Button } from '../../../components/button.tsx'
import { CopyField } from '../../../components/copy-field.tsx'
import { Countdown } from '../../../components/countdown.tsx'
import { DateTime } from '../../../components/date-time.tsx'
import { ErrorNote, Note } from '../../../components/error-note.tsx'
import { Section } from '../../../components/page.tsx'
import { useAction } from '../../../components/use-action.ts'
import { useCountdown } from '../../../components/use-countdown.ts'
import { delayText, durationText } from './duration.ts'
import { CancelRecoveryDialog } from './recovery-dialogs.tsx'
import type { RecoveryActions } from './use-recovery.ts'

type Pending = NonNullable<AgentKeys['recovery']>

const LEADS: Readonly<Record<Pending['reason'], string>> = {
  key_lost: 'You reported the key as lost. It works until the new key takes effect.',
  key_compromised:
    'You reported the key as stolen. It is burned, and the agent is suspended until the new key takes effect.',
}

const RENOUNCED_LEAD =
  'The key has renounced the agent, which is suspended until the new key takes effect.'

interface PendingRecoveryProps {
  readonly did: string
  readonly pending: Pending
  readonly recovery: RecoveryActions
  /** Whether the current key has renounced the agent. */
  readonly isRenounced: boolean
}

/** A recovery that has not taken effect: its state, the next step and what the owner can do. */
export function PendingRecovery({ did, pending, recovery, isRenounced }: PendingRecoveryProps) {
  const may = useMay()
  const [cancelling, setCancelling] = useState(false)
  const reissue = useAction(recovery.reissueToken)
  const token = currentToken(recovery, pending)
  const secondsLeft = useCountdown(token?.deadline ?? 0)
  const isTokenValid = token !== null && secondsLeft > 0

  return (
    <Section
      title="Pending recovery"
      lead={
        <>
          {isRenounced ? RENOUNCED_LEAD : LEADS[pending.reason]} Started on{' '}
          <DateTime at={pending.startedAt} as="minute" />.
        </>
      }
    >
      {pending.effectiveAt !== null && (
        <Redeemed did={did} pending={pending} effectiveAt={pending.effectiveAt} />
      )}
      {isTokenValid && (
        <IssuedToken
          did={did}
          value={token.value}
          secondsLeft={secondsLeft}
          seconds={token.seconds}
        />
      )}
      {!isTokenValid && pending.effectiveAt === null && (
        <Note tone="warn">
          <p>
            The agent has not redeemed a recovery token. A token is shown once and is valid for 10
            minutes. If it is lost or has expired, create a fresh one.
          </p>
        </Note>
      )}
      {may('manager') && (
        <div className="flex flex-wrap items-center gap-3">
          <Button
            variant={isTokenValid || pending.effectiveAt !== null ? 'secondary' : 'primary'}
            pending={reissue.pending}
            onClick={() => reissue.run()}
          >
            Create a fresh token
          </Button>
          <Button variant="warning" onClick={() => setCancelling(true)}>
            Cancel the recovery …
          </Button>
        </div>
      )}
      <ErrorNote error={reissue.error} />
      <p className="max-w-2xl text-pretty text-soft text-sm">
        A fresh token invalidates the one before it. Redeeming it replaces the new key and starts
        the delay again.
        {pending.reason === 'key_lost' &&
          !isRenounced &&
          ' If the key was stolen, cancel this recovery and report the key as stolen instead, because its holder can stop this one.'}
      </p>
      <CancelRecoveryDialog
        recovery={recovery}
        reason={pending.reason}
        isRenounced={isRenounced}
        open={cancelling}
        onClose={() => setCancelling(false)}
      />
    </Section>
  )
}

/** The token that was issued on this page, unless the agent has redeemed it or another recovery was started since. */
function currentToken({ token }: RecoveryActions, { startedAt, redeemedAt }: Pending) {
  const isCurrent =
    token?.recovery?.startedAt === startedAt && token.recovery.redeemedAt === redeemedAt
  return isCurrent ? token : null
}

interface IssuedTokenProps {
  readonly did: string
  readonly value: string
  readonly secondsLeft: number
  /** Its lifetime. */
  readonly seconds: number
}

function IssuedToken({ did, value, secondsLeft, seconds }: IssuedTokenProps) {
  const { baseUrl, cliPackage, recoveryDelaySeconds } = useService()
  const data = { did, baseUrl, cliPackage }
  return (
    <>
      <Countdown left={secondsLeft} total={seconds} />
      <p className="max-w-2xl text-pretty">
        Run the command where the agent runs. It creates a new key, stores it and redeems the token.
        {recoveryDelaySeconds > 0 &&
          ` The new key takes effect ${delayText(recoveryDelaySeconds)} later.`}
      </p>
      <CopyField label="Command for the agent" value={redeemCommand(data, value)} lines />
      <CopyField label="Recovery token" value={value} />
      <p className="max-w-2xl text-pretty text-soft text-sm">
        Shown only once. Treat it like a password: anyone who has it can name the new key.
      </p>
    </>
  )
}

interface RedeemedProps {
  readonly did: string
  readonly pending: Pending
  readonly effectiveAt: string
}

function Redeemed({ did, pending, effectiveAt }: RedeemedProps) {
  const { baseUrl, cliPackage } = useService()
  const left = useCountdown(Date.parse(effectiveAt))
  return (
    <>
      <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        <div>
          <dt className="text-soft text-sm">The new key takes effect</dt>
          <dd className="mt-0.5">
            <DateTime at={effectiveAt} as="minute" />
          </dd>
        </div>
        <div>
          <dt className="text-soft text-sm">Time left</dt>
          <dd className="mt-0.5">
            <span
              role="timer"
              aria-label="Time left"
              className="font-semibold tabular-nums tracking-tight"
            >
              {left > 0 ? durationText(left) : 'Taking effect …'}
            </span>
          </dd>
        </div>
      </dl>
      {pending.keyThumbprint !== null && (
        <CopyField label="Thumbprint of the new key" value={pending.keyThumbprint} />
      )}
      <Note tone="warn">
        <p>
          Compare the thumbprint with the agent’s new key. If it differs, somebody else redeemed the
          token: cancel the recovery.
        </p>
      </Note>
      <CopyField
        label="Command for the agent, after that"
        value={completeCommand({ did, baseUrl, cliPackage })}
        lines
      />
      <p className="max-w-2xl text-pretty text-soft text-sm">
        It makes the new key the agent’s key file.
      </p>
    </>
  )
}

/** The data that the commands for a recovery contain. */
interface RecoverData {
  readonly did: string
  readonly baseUrl: string
  /** The package of the command, as npx takes it. */
  readonly cliPackage: string
}

/** For the `countersign` CLI: makes a new key, stores it and redeems the recovery token with it. */
function redeemCommand({ did, baseUrl, cliPackage }: RecoverData, token: string): string {
  return `npx -y ${cliPackage} recover \\
  ${did} \\
  ${token} \\
  --url ${baseUrl}`
}

/** Moves the new key into the key file, once it is the current one. */
function completeCommand({ did, baseUrl, cliPackage }: RecoverData): string {
  return `npx -y ${cliPackage} recover \\
  ${did} \\
  --url ${baseUrl}`
}
