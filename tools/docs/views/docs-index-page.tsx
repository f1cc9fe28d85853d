import type { ReactNode } from 'react'
import { htmlOf } from '../../../packages/server/src/pages/views/html.tsx'
import type { PageContext } from '../../../packages/server/src/pages/views/page-context.ts'
import { Shell } from '../../../packages/server/src/pages/views/shell.tsx'
import { DocsSearch } from './docs-layout.tsx'
import type { DocsMap } from './docs-view.ts'

/** The index of the documentation, by role of the reader. */
export function docsIndexPage(context: PageContext, map: DocsMap): string {
  const { serviceName } = context
  const [start, ...groups] = map.groups
  return htmlOf(
    <Shell
      context={context}
      title={`Documentation · ${serviceName}`}
      description={`How to use ${serviceName}: quick starts for owners, agents, relying parties and operators, and the references.`}
      path="/docs"
    >
      <h1 className="pt-4 text-4xl/11 font-bold tracking-tight wrap-anywhere hyphens-auto sm:text-5xl/14">
        Documentation
      </h1>
      <p className="mt-4 max-w-2xl text-xl/8 text-pretty">Choose your role, or search.</p>
      <div className="mt-6 max-w-xl">
        <DocsSearch id="search" />
      </div>
      <ul className="mt-10 grid gap-4 sm:grid-cols-2">
        {start?.pages.map(({ name, title, summary }) => (
          <li key={name} className="min-w-0">
            <a
              href={`/docs/${name}`}
              className="block h-full rounded-xl border border-line-strong bg-surface p-5 hover:border-accent sm:p-6"
            >
              <span className="block text-lg font-semibold text-accent">{title}</span>
              <span className="mt-1 block text-pretty">{summary}</span>
            </a>
          </li>
        ))}
      </ul>
      <div className="mt-14 grid gap-x-14 gap-y-12 md:grid-cols-2">
        {groups.map(({ title, pages }) => (
          <Group key={title} title={title}>
            {pages.map((page) => (
              <Entry key={page.name} href={`/docs/${page.name}`} {...page} />
            ))}
          </Group>
        ))}
        <Group title="API reference">
          <Entry href="/docs/api" title="All operations" summary="Every endpoint, by task." />
          {map.api.map(({ name, title }) => (
            <Entry key={name} href={`/docs/api/${name}`} title={title} />
          ))}
        </Group>
        <Group title="For programs">
          <Entry
            href="/skill.md"
            title="skill.md"
            summary="Instructions for agents that a model drives."
          />
          <Entry href="/llms.txt" title="llms.txt" summary="This documentation, as Markdown." />
          <Entry
            href="/openapi.json"
            title="openapi.json"
            summary="The API as an OpenAPI 3.1 document."
          />
        </Group>
      </div>
    </Shell>,
  )
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title} className="min-w-0">
      <h2 className="text-xl/7 font-semibold tracking-tight">{title}</h2>
      <ul className="mt-4 space-y-3">{children}</ul>
    </section>
  )
}

interface EntryProps {
  readonly href: string
  readonly title: string
  readonly summary?: string
}

function Entry({ href, title, summary }: EntryProps) {
  return (
    <li>
      <a
        href={href}
        className="font-medium text-accent underline underline-offset-4 hover:text-accent-strong"
      >
        {title}
      </a>
      {summary !== undefined && <span className="block text-pretty text-soft">{summary}</span>}
    </li>
  )
}
