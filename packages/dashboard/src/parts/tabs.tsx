import { Tabs as BaseTabs } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'

const TAB =
  'min-h-11 cursor-pointer border-transparent border-b-3 px-2.5 py-2 font-medium text-sm text-soft sm:px-3 sm:text-base hover:text-ink data-active:border-accent data-active:text-ink'

interface Way {
  readonly id: string
  readonly title: string
  readonly content: ReactNode
}

interface TabsProps {
  /** What there is to choose from, for whoever cannot see it: `Ways to claim`. */
  readonly label: string
  /** At least one; the first is shown first. */
  readonly ways: readonly Way[]
}

/** Several ways to the same end, of which one is read at a time. */
export function Tabs({ label, ways }: TabsProps) {
  return (
    <BaseTabs.Root defaultValue={ways[0]?.id}>
      <BaseTabs.List
        aria-label={label}
        activateOnFocus
        className="-mx-3 flex flex-wrap border-line border-b sm:mx-0"
      >
        {ways.map(({ id, title }) => (
          <BaseTabs.Tab key={id} value={id} className={TAB}>
            {title}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {ways.map(({ id, content }) => (
        <BaseTabs.Panel key={id} value={id} className="pt-5">
          {content}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  )
}
