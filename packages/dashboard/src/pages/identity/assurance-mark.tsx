import type { Assurance } from '@countersign/protocol'

const NAMES: Record<Assurance, string> = {
  high: 'High assurance',
  substantial: 'Substantial assurance',
  low: 'Low assurance',
}

const FILLED: Record<Assurance, number> = { low: 1, substantial: 2, high: 3 }

/** The assurance level as text and as a scale of three bars. */
export function AssuranceMark({ assurance }: { readonly assurance: Assurance | null }) {
  const filled = assurance === null ? 0 : FILLED[assurance]
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap font-medium text-sm">
      <span aria-hidden="true" className="flex items-end gap-0.5">
        <Bar on={filled >= 1} height="h-1.5" />
        <Bar on={filled >= 2} height="h-2.5" />
        <Bar on={filled >= 3} height="h-3.5" />
      </span>
      {assurance === null ? 'Assurance varies' : NAMES[assurance]}
    </span>
  )
}

function Bar({ on, height }: { readonly on: boolean; readonly height: string }) {
  return <span className={`w-1.5 rounded-xs ${height} ${on ? 'bg-accent' : 'bg-line'}`} />
}
