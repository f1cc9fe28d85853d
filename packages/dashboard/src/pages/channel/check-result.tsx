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
          ? 'The proof was found.'
          : 'The earlier proof was found and still counts. The new token was not found yet.'}
      </p>
    )
  }
  if (outcome === 'unreachable') {
    return (
      <>
        <p className="font-medium">No result</p>
        <p className="text-pretty">
          Too few servers responded. Nothing has changed. Check again in a few minutes.
        </p>
      </>
    )
  }
  if (proof === null) return <p className="font-medium">The proof was not found.</p>
  return (
    <>
      <p className="font-medium">
        {state === 'verified'
          ? 'Neither the new nor the earlier proof was found.'
          : 'Not found yet'}
      </p>
      <p className="text-pretty">
        A new entry can take minutes, sometimes hours, to be visible everywhere.{' '}
        <Later channel={channel} />
      </p>
    </>
  )
}

/** Says when the next check happens, so that users need not wait on the page. */
function Later({ channel: { nextCheckAt, proof } }: Pick<CheckResultProps, 'channel'>) {
  const until = proof && <DateTime at={proof.expiresAt} />
  if (nextCheckAt === null) {
    return <>You can close this page and check again later. Complete by {until}.</>
  }
  return (
    <>
      You can close this page. Next check <NextCheck at={nextCheckAt} />. Complete by {until}.
    </>
  )
}
