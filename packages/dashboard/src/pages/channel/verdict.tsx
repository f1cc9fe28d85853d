import type { ChannelCheck, OwnerChannel } from '@countersign/protocol'
import { NextCheck } from '../../channels/next-check.tsx'
import { Moment } from '../../parts/moment.tsx'

interface VerdictProps {
  readonly channel: OwnerChannel
  /** The last one. */
  readonly check: ChannelCheck
}

/** What a check comes down to, and what there is to do. */
export function Verdict({ channel, check: { outcome } }: VerdictProps) {
  const { state, proof } = channel
  if (outcome === 'proven') {
    return (
      <p className="text-pretty">
        {proof === null
          ? 'The proof is there.'
          : 'The earlier proof is there and goes on counting. The fresh token has not been seen yet.'}
      </p>
    )
  }
  if (outcome === 'unreachable') {
    return (
      <>
        <p className="font-medium">Nobody could tell.</p>
        <p className="text-pretty">
          Too few of the answers that it takes have come. Nothing has changed; check again in a
          while.
        </p>
      </>
    )
  }
  if (proof === null) return <p className="font-medium">The proof was not found.</p>
  return (
    <>
      <p className="font-medium">
        {state === 'verified'
          ? 'Neither this proof nor the earlier one is there.'
          : 'Not there yet.'}
      </p>
      <p className="text-pretty">
        What has just been placed can take some minutes to be seen everywhere, sometimes hours.{' '}
        <Later channel={channel} />
      </p>
    </>
  )
}

/** Nobody has to wait in front of the page. */
function Later({ channel: { nextCheckAt, proof } }: Pick<VerdictProps, 'channel'>) {
  const until = proof && <Moment at={proof.expiresAt} />
  if (nextCheckAt === null) {
    return <>You can close this page, come back and check again: there is time until {until}.</>
  }
  return (
    <>
      You can close this page: it is looked for again by itself, <NextCheck at={nextCheckAt} />, and
      there is time until {until}.
    </>
  )
}
