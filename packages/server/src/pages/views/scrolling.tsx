import type { ReactNode } from 'react'

interface ScrollingTableProps {
  /** What it shows, for those who do not see it. */
  readonly label: string
  /** Of its columns. */
  readonly heads: readonly string[]
  /** Where there is little room, a row is a block with its first cell as the title. */
  readonly members?: boolean
  readonly children: ReactNode
}

/** A table that scrolls by itself where it is wider than the page, also with the keyboard. */
export function ScrollingTable({ label, heads, members = false, children }: ScrollingTableProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no set of fields
    <div
      className={`doc-table ${members ? 'api-members' : ''}`}
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what has the focus (WCAG 2.1.1)
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

/** Code as it stands, which scrolls by itself as well. */
export function ScrollingCode({ children }: { readonly children: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what has the focus (WCAG 2.1.1)
    <pre tabIndex={0}>
      <code>{children}</code>
    </pre>
  )
}
