import type { AgentStatus } from '@countersign/protocol'

export const STATUS_WORDS: Readonly<Record<AgentStatus, string>> = {
  active: 'Active',
  suspended: 'Suspended',
  revoked: 'Revoked',
}

const INKS: Readonly<Record<AgentStatus, string>> = {
  active: 'text-good',
  suspended: 'text-warn',
  revoked: 'text-bad',
}

const PILLS: Readonly<Record<AgentStatus, string>> = {
  active: 'bg-good-wash text-good',
  suspended: 'bg-warn-wash text-warn',
  revoked: 'bg-bad text-on-bad',
}

export interface StatusIconProps {
  readonly status: AgentStatus
  /** Tailwind classes for the size, and for the colour if it is not the status's own. */
  readonly className?: string
}

/**
 * A distinct shape for each status, so that it does not depend on colour: disc with tick, diamond with bars, octagon
 * with cross.
 */
export function StatusIcon({ status, className = `size-5 ${INKS[status]}` }: StatusIconProps) {
  return (
    <svg viewBox="0 0 24 24" fill="currentColor" aria-hidden="true" className={className}>
      <path fillRule="evenodd" clipRule="evenodd" d={SHAPES[status]} />
    </svg>
  )
}

const SHAPES: Readonly<Record<AgentStatus, string>> = {
  active:
    'M12 1a11 11 0 1 0 0 22 11 11 0 0 0 0-22Zm5.9 8.1-7.3 8-4.5-4.3 1.7-1.8 2.7 2.6 5.6-6.1 1.8 1.6Z',
  suspended:
    'M10.3 1.7a2.4 2.4 0 0 1 3.4 0l8.6 8.6a2.4 2.4 0 0 1 0 3.4l-8.6 8.6a2.4 2.4 0 0 1-3.4 0l-8.6-8.6a2.4 2.4 0 0 1 0-3.4l8.6-8.6ZM8.4 8h2.4v8H8.4V8Zm4.8 0h2.4v8h-2.4V8Z',
  revoked:
    'M7.4 1h9.2L23 7.4v9.2L16.6 23H7.4L1 16.6V7.4L7.4 1Zm1.3 6L7 8.7l3.3 3.3L7 15.3 8.7 17l3.3-3.3 3.3 3.3 1.7-1.7-3.3-3.3L17 8.7 15.3 7 12 10.3 8.7 7Z',
}

export interface StatusMarkProps {
  readonly status: AgentStatus
  readonly size?: 'small' | 'large'
}

/** The status as text, icon and colour. */
export function StatusMark({ status, size = 'small' }: StatusMarkProps) {
  const scale = size === 'small' ? 'gap-1.5 px-2.5 py-1 text-sm' : 'gap-2.5 px-4 py-2 text-lg'
  return (
    <span
      className={`inline-flex items-center rounded-full font-semibold leading-none whitespace-nowrap ${scale} ${PILLS[status]}`}
    >
      <StatusIcon status={status} className={size === 'small' ? 'size-4' : 'size-6'} />
      {STATUS_WORDS[status]}
    </span>
  )
}
