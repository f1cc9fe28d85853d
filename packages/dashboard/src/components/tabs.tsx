import { Tabs as BaseTabs } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'

const TAB =
  'min-h-11 cursor-pointer border-transparent border-b-3 px-2.5 py-2 font-medium text-sm text-soft sm:px-3 sm:text-base hover:text-ink data-active:border-accent data-active:text-ink'

interface Tab {
  readonly id: string
  readonly title: string
  readonly content: ReactNode
}

interface TabsProps {
  /** The accessible name, such as `Ways to claim`. */
  readonly label: string
  /** At least one. The first is selected initially. */
  readonly tabs: readonly Tab[]
}

export function Tabs({ label, tabs }: TabsProps) {
  return (
    <BaseTabs.Root defaultValue={tabs[0]?.id}>
      <BaseTabs.List
        aria-label={label}
        activateOnFocus
        className="-mx-3 flex flex-wrap border-line border-b sm:mx-0"
      >
        {tabs.map(({ id, title }) => (
          <BaseTabs.Tab key={id} value={id} className={TAB}>
            {title}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {tabs.map(({ id, content }) => (
        <BaseTabs.Panel key={id} value={id} className="pt-5">
          {content}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  )
}
