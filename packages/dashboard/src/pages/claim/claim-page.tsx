import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Instead } from '../../agents/instead.tsx'
import { AGENTS_KEY } from '../../agents/queries.ts'
import { Page } from '../../parts/page.tsx'
import { HandOver } from './hand-over.tsx'
import { Landed } from './landed.tsx'
import { Start } from './start.tsx'
import { TokenSection } from './token-section.tsx'
import { useClaimLanded } from './use-claim-landed.ts'
import { useClaimToken } from './use-claim-token.ts'
import { useCountdown } from './use-countdown.ts'

/** From a token to an agent, without leaving the page. */
export function ClaimPage() {
  const queries = useQueryClient()
  const { token, making } = useClaimToken()
  const left = useCountdown(token?.deadline ?? 0)
  const landed = useClaimLanded(token?.since ?? null)

  useEffect(() => {
    if (landed !== null) void queries.invalidateQueries({ queryKey: AGENTS_KEY })
  }, [landed, queries])

  const waiting = token !== null && left > 0 && landed === null
  const expired = token !== null && left === 0 && landed === null

  return (
    <Page
      title="Claim an agent"
      lead="You make a token; the agent redeems it with its own key and has a certificate. This page notices when it does."
    >
      <p role="status" className="sr-only">
        {landed !== null && 'The claim has arrived: your agent has its certificate.'}
        {waiting && 'Your claim token is ready. It is good for ten minutes.'}
        {expired && 'The token has expired.'}
      </p>
      {landed !== null && (
        <Instead key={landed}>
          <Landed did={landed} making={making} />
        </Instead>
      )}
      {waiting && (
        <Instead key="waiting">
          <div className="flex flex-col gap-8">
            <TokenSection token={token} left={left} making={making} />
            <HandOver token={token} />
          </div>
        </Instead>
      )}
      {expired && (
        <Instead key="expired">
          <Start expired making={making} />
        </Instead>
      )}
      {token === null && <Start making={making} />}
    </Page>
  )
}
