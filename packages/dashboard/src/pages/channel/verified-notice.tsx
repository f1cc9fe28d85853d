import type { OwnerAgent } from '@countersign/protocol'
import { GradeMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { buttonClass } from '../../components/button.tsx'

interface VerifiedNoticeProps {
  readonly did: string
  readonly agent: OwnerAgent
  /** The grade when the page was opened. */
  readonly gradeBefore: OwnerAgent['grade']
  readonly byAgent: boolean
}

/** Tells the owner that the channel is verified, and the resulting grade. */
export function VerifiedNotice({ did, agent, gradeBefore, byAgent }: VerifiedNoticeProps) {
  const { displayName, grade, status, certificateUrl } = agent
  const container = useRef<HTMLDivElement>(null)
  // The user may have scrolled down to start the check.
  useEffect(() => {
    container.current?.scrollIntoView({ block: 'nearest' })
  }, [])

  return (
    <div
      ref={container}
      className="flex scroll-mt-8 flex-wrap items-center gap-x-6 gap-y-4 rounded-2xl border-2 border-good bg-good-wash p-5 sm:p-7"
    >
      <GradeMark grade={grade} status={status} size="medium" seed={certificateUrl} />
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1">
        <h2 className="font-semibold text-2xl tracking-tight">Channel verified</h2>
        <p className="text-pretty wrap-break-word">
          {grade === gradeBefore
            ? `The grade of ${displayName} is still ${grade}.`
            : `The grade of ${displayName} changed from ${gradeBefore} to ${grade}.`}{' '}
          {byAgent
            ? 'The agent must renew the proof before it expires.'
            : 'Leave the published text in place. It is checked every day.'}
        </p>
      </div>
      <div className="flex flex-wrap gap-3">
        <Link to="/agents/$did" params={{ did }} className={buttonClass('primary')}>
          Open the agent
        </Link>
        <a href={certificateUrl} className={buttonClass()}>
          Public certificate
        </a>
      </div>
    </div>
  )
}
