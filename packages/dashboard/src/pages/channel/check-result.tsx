import type { ChannelCheck, OwnerChannel } from '@countersign/protocol'
import { NextCheck } from '../../channels/next-check.tsx'
import { DateTime } from '../../components/date-time.tsx'

interface CheckResultProps {
  readonly channel: OwnerChannel
  /** The latest check. */
  readonly check: ChannelCheck
}

/** The result of a check, and what to do next. */
export function CheckResult({ channel, check: { outcome } }: CheckResultProps) {
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

/** Says when the next check happens, so that users need not wait on the page. */
function Later({ channel: { nextCheckAt, proof } }: Pick<CheckResultProps, 'channel'>) {
  const until = proof && <DateTime at={proof.expiresAt} />
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
