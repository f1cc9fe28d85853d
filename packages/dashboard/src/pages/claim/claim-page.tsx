import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { AGENTS_KEY } from '../../agents/queries.ts'
import { RestoreFocus } from '../../agents/restore-focus.tsx'
import { Page } from '../../components/page.tsx'
import { ClaimInstructions } from './claim-instructions.tsx'
import { ClaimedAgent } from './claimed-agent.tsx'
import { Start } from './start.tsx'
import { TokenSection } from './token-section.tsx'
import { useClaimToken } from './use-claim-token.ts'
import { useClaimedAgent } from './use-claimed-agent.ts'
import { useCountdown } from './use-countdown.ts'

/** Creates a claim token and waits until an agent redeems it. */
export function ClaimPage() {
  const queries = useQueryClient()
  const { token, making } = useClaimToken()
  const left = useCountdown(token?.deadline ?? 0)
  const claimedDid = useClaimedAgent(token?.since ?? null)

  useEffect(() => {
    if (claimedDid !== null) void queries.invalidateQueries({ queryKey: AGENTS_KEY })
  }, [claimedDid, queries])

  const waiting = token !== null && left > 0 && claimedDid === null
  const expired = token !== null && left === 0 && claimedDid === null

  return (
    <Page
      title="Claim an agent"
      lead="You make a token; the agent redeems it with its own key and has a certificate. This page notices when it does."
    >
      <p role="status" className="sr-only">
        {claimedDid !== null && 'The claim has arrived: your agent has its certificate.'}
        {waiting && 'Your claim token is ready. It is good for ten minutes.'}
        {expired && 'The token has expired.'}
      </p>
      {claimedDid !== null && (
        <RestoreFocus key={claimedDid}>
          <ClaimedAgent did={claimedDid} making={making} />
        </RestoreFocus>
      )}
      {waiting && (
        <RestoreFocus key="waiting">
          <div className="flex flex-col gap-8">
            <TokenSection token={token} left={left} making={making} />
            <ClaimInstructions token={token} />
          </div>
        </RestoreFocus>
      )}
      {expired && (
        <RestoreFocus key="expired">
          <Start expired making={making} />
        </RestoreFocus>
      )}
      {token === null && <Start making={making} />}
    </Page>
  )
}
