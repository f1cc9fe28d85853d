import type { ChannelKindInWords } from '@countersign/protocol'
import { useId } from 'react'
import { HandleForm } from './handle-form.tsx'

interface KindOptionProps {
  readonly did: string
  readonly kind: ChannelKindInWords
  readonly chosen: boolean
  readonly onChoose: () => void
}

/** One kind of channel. The selected one shows the form for its handle. */
export function KindOption({ did, kind, chosen, onChoose }: KindOptionProps) {
  const id = useId()
  return (
    <div
      className={`rounded-2xl border bg-surface ${chosen ? 'border-accent ring-1 ring-accent' : 'border-line'}`}
    >
      <label className="flex cursor-pointer gap-4 px-5 py-4">
        <input
          type="radio"
          name="kind"
          checked={chosen}
          onChange={onChoose}
          aria-describedby={`${id}-proves`}
          aria-labelledby={`${id}-label`}
          className="mt-1 size-4.5 shrink-0 accent-accent"
        />
        <span className="flex min-w-0 flex-1 flex-col gap-1">
          <span id={`${id}-label`} className="font-semibold text-lg/6">
            {kind.label}
          </span>
          <span id={`${id}-proves`} className="text-pretty text-soft">
            {kind.proves}
          </span>
        </span>
      </label>
      {chosen && (
        <div className="border-line border-t px-5 py-5">
          <HandleForm did={did} kind={kind} />
        </div>
      )}
    </div>
  )
}
