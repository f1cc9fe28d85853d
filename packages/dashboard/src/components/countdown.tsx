import { Pulse } from './pulse.tsx'

interface CountdownProps {
  /** In seconds. */
  readonly left: number
  /** The initial time, in seconds. */
  readonly total: number
  /** Who is waited for. */
  readonly of?: string
}

/** The remaining time. It is visible all the time, but announced to screen readers only a few times. */
export function Countdown({ left, total, of = 'the agent' }: CountdownProps) {
  const urgent = left <= 60
  return (
    <div className="flex flex-col gap-2">
      <p className="flex items-center justify-between gap-4">
        <span className="flex items-center gap-3 font-medium">
          <Pulse />
          Waiting for {of} …
        </span>
        <span
          role="timer"
          aria-label="Time left"
          className={`font-semibold text-2xl tabular-nums tracking-tight ${urgent ? 'text-bad' : ''}`}
        >
          {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')}
        </span>
      </p>
      <div aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-sunken">
        <div
          className={`h-full rounded-full ${urgent ? 'bg-bad' : 'bg-accent'}`}
          style={{ width: `${(left / total) * 100}%` }}
        />
      </div>
      <p role="status" className="sr-only">
        {announcement(left)}
      </p>
    </div>
  )
}

/** The text changes rarely, so that screen readers do not announce every second. */
function announcement(left: number): string {
  if (left > 300) return ''
  if (left > 60) return 'Five minutes are left.'
  return left > 0 ? 'One minute is left.' : ''
}
