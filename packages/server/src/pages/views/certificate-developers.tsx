import type { FaceProps } from './certificate-face.tsx'
import { DatesClause, KeyClause } from './certificate-key.tsx'
import { CheckClause, LinksClause } from './certificate-proof.tsx'
import { LogClause, SignedClause } from './certificate-signed.tsx'

/** What developers need, folded: most readers do not. A link to a section inside opens it, also without a script. */
export function DevelopersFold(parts: FaceProps) {
  return (
    <details id="developers" className="group border-t border-line">
      <summary className="cursor-pointer px-5 py-5 hover:text-accent sm:px-10">
        <h2 className="inline text-xl/7 font-semibold tracking-tight">For developers</h2>
        <span className="block text-soft">Keys, commands, signed certificate, log, JSON</span>
      </summary>
      <KeyClause {...parts} />
      <DatesClause certificate={parts.certificate} />
      <CheckClause {...parts} />
      <SignedClause {...parts} />
      <LogClause {...parts} />
      <LinksClause {...parts} />
    </details>
  )
}
