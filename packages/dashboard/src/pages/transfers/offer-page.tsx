import { MAX_TRANSFER_AGENTS, type NewTransfer, type StartedTransfer } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { isVerified } from '../../agents/grade-with-owner.ts'
import { dashboardOf } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { AgentChoice } from './agent-choice.tsx'
import type { OfferedAgent } from './offered-agent.ts'
import { identityOfQuery, refreshTransfers, TRANSFERS_PATH } from './queries.ts'
import { type Receiver, ReceiverChoice, useOwnReceivers } from './receiver-choice.tsx'
import { agentCount } from './texts.ts'
import { WhatChanges } from './what-changes.tsx'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The agents that are chosen on arrival. */
    offer?: readonly OfferedAgent[]
  }
}

/** Offers agents to another owner, after showing what changes. */
export function OfferPage() {
  const initial = useLocation({ select: ({ state }) => state.offer ?? NONE })
  const own = useOwnReceivers()
  const [chosen, setChosen] = useState<ReadonlyMap<string, OfferedAgent>>(
    new Map(initial.map((each) => [each.did, each])),
  )
  const [receiver, setReceiver] = useState<Receiver>({
    username: own[0]?.username ?? '',
    isOwn: own.length > 0,
  })
  const identity = useQuery({
    ...identityOfQuery(receiver.username),
    enabled: receiver.isOwn,
  }).data
  const agents = [...chosen.values()]
  const username = receiver.username.trim().replace(/^@/, '').toLowerCase()
  const isUnverified = receiver.isOwn && identity !== undefined && !isVerified(identity)
  const tooMany = agents.length > MAX_TRANSFER_AGENTS
  const isReady = agents.length > 0 && !tooMany && username !== '' && !isUnverified

  const queries = useQueryClient()
  const navigate = useNavigate()
  const withRecentSignIn = useRecentSignIn()
  const start = useAction(async () => {
    if (!isReady) return
    const body: NewTransfer = { agents: agents.map(({ did }) => did), to: username }
    const { state } = await withRecentSignIn(() =>
      send<StartedTransfer>('POST', TRANSFERS_PATH, body),
    )
    await refreshTransfers(queries)
    await navigate({ to: '/transfers' })
    const what = agentCount(agents.length)
    toast(state === 'done' ? `${what} moved to @${username}.` : `${what} offered to @${username}.`)
  })

  return (
    <Page
      title="Offer agents"
      above={
        <Link to="/transfers" className="w-fit text-accent underline">
          All transfers
        </Link>
      }
      lead="Give agents to another owner. They keep their DIDs and keys."
    >
      <AgentChoice initial={initial} chosen={chosen} onChange={setChosen} />
      <Section title="Receiver">
        <ReceiverChoice own={own} receiver={receiver} onChange={setReceiver} />
        {isUnverified && (
          <Note tone="warn">
            <p>
              The organisation has no current identity verification.{' '}
              <a href={`${dashboardOf(username)}/identity`} className="underline">
                Verify it first
              </a>
              ; then the agents can move.
            </p>
          </Note>
        )}
      </Section>
      {agents.length > 0 && (
        <WhatChanges agents={agents} receiver={receiver.isOwn ? (identity ?? null) : null} />
      )}
      <div className="flex flex-col items-start gap-4">
        {tooMany && (
          <p className="text-bad">
            A transfer has at most {agentCount(MAX_TRANSFER_AGENTS)}. Remove some.
          </p>
        )}
        <ErrorNote error={start.error} />
        <Button variant="primary" pending={start.pending} disabled={!isReady} onClick={start.run}>
          {receiver.isOwn ? 'Move' : 'Offer'}{' '}
          {agents.length === 0 ? 'agents' : agentCount(agents.length)}
          {username !== '' && ` to @${username}`}
        </Button>
        <p className="text-pretty text-soft text-sm">
          You confirm it with a passkey or provider that you added at least 72 hours ago, or with
          the passkey that created the account.
        </p>
      </div>
    </Page>
  )
}

const NONE: readonly OfferedAgent[] = []
