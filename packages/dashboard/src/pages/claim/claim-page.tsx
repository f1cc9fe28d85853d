import { useQueryClient } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { AGENTS_KEY } from '../../agents/queries.ts'
import { RestoreFocus } from '../../agents/restore-focus.tsx'
import { Page } from '../../components/page.tsx'
import { useCountdown } from '../../components/use-countdown.ts'
import { BatchSection } from './batch-section.tsx'
import { ClaimInstructions } from './claim-instructions.tsx'
import { ClaimedAgent } from './claimed-agent.tsx'
import { Start } from './start.tsx'
import { TokenSection } from './token-section.tsx'
import { useClaimTokens } from './use-claim-tokens.ts'
import { useClaimedAgents } from './use-claimed-agents.ts'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Create a token on arrival. Part of the history, not of the URL, so that no link of another site can do it. */
    createToken?: boolean
  }
}

/** Creates claim tokens and waits until agents redeem them. */
export function ClaimPage() {
  const queries = useQueryClient()
  const { tokens, creating } = useClaimTokens()
  const left = useCountdown(tokens?.deadline ?? 0)
  const claimed = useClaimedAgents(tokens?.since ?? null)
  useCreateOnArrival(creating.run)

  useEffect(() => {
    if (claimed.length > 0) void queries.invalidateQueries({ queryKey: AGENTS_KEY })
  }, [claimed.length, queries])

  const batch = tokens !== null && tokens.values.length > 1
  const claimedDid = batch ? undefined : claimed.at(-1)
  const waiting = tokens !== null && left > 0 && claimedDid === undefined
  const expired = tokens !== null && left === 0 && claimedDid === undefined

  return (
    <Page
      title="Claim an agent"
      lead="Create a claim token. The agent redeems it with its own key and gets a certificate. This page updates automatically."
    >
      <p role="status" className="sr-only">
        {claimedDid !== undefined && 'Your agent has its certificate.'}
        {waiting && `${batch ? 'Your claim tokens are' : 'Your claim token is'} ready.`}
        {expired && 'The claim token has expired.'}
      </p>
      {claimedDid !== undefined && (
        <RestoreFocus key={claimedDid}>
          <ClaimedAgent did={claimedDid} creating={creating} />
        </RestoreFocus>
      )}
      {waiting && (
        <RestoreFocus key="waiting">
          <div className="flex flex-col gap-8">
            {batch ? (
              <BatchSection
                tokens={tokens}
                left={left}
                claimed={claimed.length}
                creating={creating}
              />
            ) : (
              <>
                <ClaimInstructions tokens={tokens} />
                <TokenSection tokens={tokens} left={left} creating={creating} />
              </>
            )}
          </div>
        </RestoreFocus>
      )}
      {expired && (
        <RestoreFocus key="expired">
          <Start expired creating={creating} />
        </RestoreFocus>
      )}
      {tokens === null && <Start creating={creating} />}
    </Page>
  )
}

/** Creates a token if a button on another page asked for it. Only once: a reload does not create another one. */
function useCreateOnArrival(create: (count: number) => void): void {
  const wanted = useLocation({ select: ({ state }) => state.createToken === true })
  const navigate = useNavigate()
  // biome-ignore lint/correctness/useExhaustiveDependencies: `create` is a new function on each render
  useEffect(() => {
    if (!wanted) return
    create(1)
    void navigate({ to: '/claim', replace: true, state: {} })
  }, [wanted])
}
