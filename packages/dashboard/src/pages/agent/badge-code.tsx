import type { OwnerAgent } from '@countersign/protocol'
import { useState } from 'react'
import { useEditOnboarding } from '../../agents/onboarding.ts'
import { useService } from '../../agents/use-service.ts'
import { organisation } from '../../api/acting-for.ts'
import { CopyField } from '../../components/copy-field.tsx'

interface BadgeCodeProps {
  readonly did: string
  readonly agent: OwnerAgent
}

const STYLES = ['flat', 'seal'] as const

/** The badge styles with code to paste. Uses the DID, because a username can later belong to another agent. */
export function BadgeCode({ did, agent }: BadgeCodeProps) {
  const { name, baseUrl } = useService()
  const edit = useEditOnboarding()
  // The first step is done, even if recording that fails.
  const recordCopy = () => organisation === null && void edit({ badge: true }).catch(() => {})
  const [style, setStyle] = useState<(typeof STYLES)[number]>('flat')
  const url = `${baseUrl}/agent/${did}`
  const badge = `${url}/badge.svg?style=${style}`
  // Bypasses the browser's cache, so that the owner sees the current badge.
  const cacheBuster = `&at=${Date.parse(agent.updatedAt)}-${Date.parse(agent.statusChangedAt)}`

  return (
    <div className="flex flex-col gap-5 border-line border-t pt-5">
      <fieldset>
        <legend className="mb-2 font-medium">Badge</legend>
        <div className="flex flex-col gap-2">
          {STYLES.map((each) => (
            <label
              key={each}
              className="flex min-h-16 cursor-pointer items-center gap-4 overflow-hidden rounded-xl border border-line px-4 py-2 has-checked:border-accent has-checked:bg-accent-wash has-focus-visible:outline-3 has-focus-visible:outline-accent has-focus-visible:outline-offset-2"
            >
              <input
                type="radio"
                name="badge"
                aria-label={each === 'flat' ? 'Flat badge' : 'Badge with a seal'}
                checked={style === each}
                onChange={() => setStyle(each)}
                className="size-4 shrink-0 accent-accent outline-hidden"
              />
              <img
                src={`${url}/badge.svg?style=${each}${cacheBuster}`}
                alt=""
                className={`max-w-full min-w-0 object-contain object-left ${each === 'flat' ? 'h-5' : 'h-14'}`}
              />
            </label>
          ))}
        </div>
      </fieldset>
      <CopyField
        label="Badge for a web page"
        lines
        onCopied={recordCopy}
        value={`<a href="${url}"><img src="${badge}" alt="${escapeHtml(name)} certificate"></a>`}
      />
      <CopyField
        label="Badge for a README"
        lines
        onCopied={recordCopy}
        value={`[![${escapeMarkdown(name)} certificate](${badge})](${url})`}
      />
    </div>
  )
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** The operator chooses the name freely, so it must be escaped in markup. */
function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (each) => ENTITIES[each] ?? '')
}

function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\[\]<>`*_&]/g, (each) => `\\${each}`)
}
