import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { AGENTS_KEY } from '../../agents/queries.ts'
import { organisation } from '../../api/acting-for.ts'
import { ApiError } from '../../api/client.ts'
import { identityQuery } from '../../api/queries.ts'
import { useMay } from '../../api/use-may.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { Countdown } from '../../components/countdown.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { useCountdown } from '../../components/use-countdown.ts'
import { BatchSection } from './batch-section.tsx'
import { ClaimInstructions } from './claim-instructions.tsx'
import { ClaimedAgent } from './claimed-agent.tsx'
import { ClaimedBatch } from './claimed-batch.tsx'
import { CreateToken } from './create-token.tsx'
import { type ClaimTokens, type Creating, useClaimTokens } from './use-claim-tokens.ts'
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
  const isComplete = batch && (claimed.length >= tokens.values.length || left === 0)
  const claimedBatch = isComplete && claimed.length > 0
  const waiting = tokens !== null && left > 0 && claimedDid === undefined && !claimedBatch
  const expired = tokens !== null && left === 0 && claimedDid === undefined && !claimedBatch

  return (
    <Page
      title="Claim an agent"
      lead="Create a claim token. The agent redeems it with its own key and gets a certificate. This page updates automatically."
    >
      <p role="status" className="sr-only">
        {claimedDid !== undefined && 'Your agent has its certificate.'}
        {claimedBatch && 'Your agents have their certificates.'}
        {waiting && `${batch ? 'Your claim tokens are' : 'Your claim token is'} ready.`}
        {expired && 'The claim token has expired.'}
      </p>
      {claimedDid !== undefined && (
        <RestoreFocus key={claimedDid}>
          <ClaimedAgent did={claimedDid} creating={creating} />
        </RestoreFocus>
      )}
      {claimedBatch && (
        <RestoreFocus key="batch">
          <ClaimedBatch dids={claimed} size={tokens.values.length} creating={creating} />
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

/** Keeps keyboard users in place: takes the focus if the element that had it was replaced by this one. */
export function RestoreFocus({ children }: { readonly children: ReactNode }) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (document.activeElement === document.body) container.current?.focus()
  }, [])
  return (
    <div ref={container} tabIndex={-1} className="outline-hidden">
      {children}
    </div>
  )
}

interface StartProps {
  /** Whether the previous tokens have expired. */
  readonly expired?: boolean
  readonly creating: Creating
}

/** Shown without a valid token: a button to create one, or a link to identity verification. */
export function Start({ expired = false, creating }: StartProps) {
  const { data, error, isPending, refetch } = useQuery(identityQuery)
  const refused = creating.error instanceof ApiError && creating.error.code === 'IDENTITY_REQUIRED'

  if (isPending) {
    return (
      <>
        <Loading what="your verifications" />
        <Skeleton className="h-76 rounded-2xl" />
      </>
    )
  }
  if (refused || data?.verifications.every((each) => each.expired)) return <IdentityFirst />
  return (
    <div className="flex flex-col gap-8">
      <ErrorNote error={error} onRetry={() => void refetch()} />
      <CreateToken expired={expired} creating={creating} />
    </div>
  )
}

/** Owners need a verified identity before they can claim agents. */
function IdentityFirst() {
  const may = useMay()
  if (organisation !== null) {
    return (
      <Section
        title="Verify the organisation first"
        lead="A certificate names the verified owner of an agent. The organisation has no valid identity verification."
      >
        {may('admin') ? (
          <Link to="/identity" className={`self-start ${buttonClass('primary')}`}>
            Verify the organisation
          </Link>
        ) : (
          <p>Ask an admin to verify it.</p>
        )}
      </Section>
    )
  }
  return (
    <Section
      title="Verify your identity first"
      lead="A certificate names the verified owner of an agent. You have no valid identity verification."
    >
      <p className="max-w-2xl text-pretty">
        Verify your identity once with a provider of your choice. Then you can claim any number of
        agents.
      </p>
      <Link to="/identity" className={`self-start ${buttonClass('primary')}`}>
        Verify your identity
      </Link>
    </Section>
  )
}

interface TokenSectionProps {
  readonly tokens: ClaimTokens
  /** In seconds. */
  readonly left: number
  readonly creating: Creating
}

/** Shows the token, which is displayed only once. */
export function TokenSection({ tokens, left, creating }: TokenSectionProps) {
  return (
    <Section
      title="Your claim token"
      lead="Shown only once. Treat it like a password: anyone who has it can claim an agent in your name."
    >
      <Countdown left={left} total={tokens.seconds} />
      <CopyField label="Claim token" value={tokens.values[0] as string} />
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button size="small" pending={creating.pending} onClick={() => creating.run(1)}>
          Create another token
        </Button>
        <span className="text-soft text-sm">This invalidates the token above.</span>
      </div>
      <ErrorNote error={creating.error} />
    </Section>
  )
}
