import type { ReactNode } from 'react'
import { codeBlock } from '../code-block.ts'

interface ScrollingTableProps {
  /** Accessible name. */
  readonly label: string
  /** Column headings. */
  readonly heads: readonly string[]
  /** On narrow screens, each row becomes a block with its first cell as title. */
  readonly members?: boolean
  readonly children: ReactNode
}

/** A table that scrolls horizontally if it is wider than the page, also with the keyboard. */
export function ScrollingTable({ label, heads, members = false, children }: ScrollingTableProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be wrong: there are no form fields
    <div
      className={`doc-table ${members ? 'api-members' : ''}`}
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the focused element (WCAG 2.1.1)
      tabIndex={0}
    >
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

interface CodeProps {
  /** Such as `sh` or `json`. */
  readonly language: string
  readonly children: string
}

/** A highlighted code block that scrolls horizontally. */
export function ScrollingCode({ language, children }: CodeProps) {
  const html = codeBlock(children, language)
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the highlighter escapes the code
  return <div className="contents" dangerouslySetInnerHTML={{ __html: html }} />
}
