import type { ReactNode } from 'react'
import type { HeadProps } from '../../../packages/server/src/pages/views/head.tsx'
import { htmlOf } from '../../../packages/server/src/pages/views/html.tsx'
import type { PageContext } from '../../../packages/server/src/pages/views/page-context.ts'
import { Shell } from '../../../packages/server/src/pages/views/shell.tsx'
import type { BookHeading, BookPage } from '../book.ts'
import type { DocsMap, DocsPlace } from './docs-view.ts'

export interface DocsLayoutProps extends HeadProps {
  readonly place: DocsPlace
  readonly heading: ReactNode
  readonly children: ReactNode
}

/** Layout of the documentation: navigation beside the text, or below it on narrow screens. */
export function DocsLayout({ place, heading, children, ...head }: DocsLayoutProps) {
  return (
    <Shell {...head} wide>
      <div className="grid gap-x-14 gap-y-14 pt-2 lg:grid-cols-[15rem_minmax(0,1fr)]">
        <div className="min-w-0 max-w-3xl lg:col-start-2">
          <p className="text-sm text-soft">
            <a href="/docs" className="py-1 underline underline-offset-4 hover:text-accent">
              Documentation
            </a>
          </p>
          <h1 className="mt-2 text-4xl/11 font-bold tracking-tight text-balance wrap-anywhere hyphens-auto">
            {heading}
          </h1>
          <OnThisPage headings={place.headings} />
          {children}
          <PreviousAndNext place={place} />
        </div>
        <DocsNav place={place} />
      </div>
    </Shell>
  )
}

/** Table of contents for narrow screens; wide ones show it in the side bar. */
function OnThisPage({ headings }: Pick<DocsPlace, 'headings'>) {
  const parts = partsOf(headings)
  if (parts.length < 3) return null
  return (
    <details className="mt-6 rounded-lg border border-line bg-surface lg:hidden">
      <summary className="cursor-pointer px-4 py-3 font-medium">On this page</summary>
      <ul className="space-y-1 border-t border-line px-4 py-3">
        {parts.map(({ id, text }) => (
          <li key={id}>
            <a
              href={`#${id}`}
              className="block py-1 wrap-anywhere hover:text-accent hover:underline"
            >
              {text}
            </a>
          </li>
        ))}
      </ul>
    </details>
  )
}

function DocsNav({ place }: { readonly place: DocsPlace }) {
  return (
    <nav
      aria-label="Documentation"
      className="min-w-0 space-y-4 text-sm/6 max-lg:border-t max-lg:border-line max-lg:pt-8 max-sm:text-base/7 lg:sticky lg:top-6 lg:col-start-1 lg:row-start-1 lg:max-h-[calc(100svh-3rem)] lg:self-start lg:overflow-y-auto lg:pr-3"
    >
      <DocsSearch id="search" />
      {entriesOf(place.map).map(({ title, pages }) => (
        <NavGroup
          key={title}
          title={title}
          isOpen={pages.some(({ path }) => path === place.path) || !isEntry(place)}
        >
          {pages.map((page) => (
            <NavPage key={page.path} {...page} place={place} />
          ))}
        </NavGroup>
      ))}
    </nav>
  )
}

/** The search form, which works without JavaScript. */
export function DocsSearch({ id, query }: { readonly id: string; readonly query?: string }) {
  return (
    <search>
      <form method="get" action="/docs/search" className="flex flex-wrap gap-2">
        <label htmlFor={id} className="sr-only">
          Search the documentation
        </label>
        <input
          id={id}
          name="q"
          type="search"
          required
          maxLength={200}
          defaultValue={query}
          placeholder="Search"
          className="h-10 min-w-0 flex-[1_1_8rem] rounded-lg border border-line-strong bg-surface px-3 text-base text-ink placeholder:text-soft hover:border-accent"
        />
        <button
          type="submit"
          className="h-10 shrink-0 cursor-pointer rounded-lg border border-line-strong bg-surface px-3 font-medium hover:border-accent hover:text-accent"
        >
          Search
        </button>
      </form>
    </search>
  )
}

interface DocsEntry {
  readonly path: string
  readonly title: string
}

/** All pages in reading order. */
function entriesOf(map: DocsMap): { readonly title: string; readonly pages: DocsEntry[] }[] {
  const api = map.api.map(({ name, title }) => ({ path: `/docs/api/${name}`, title }))
  return [
    ...map.groups.map(({ title, pages }) => ({
      title,
      pages: pages.map((page) => ({ path: `/docs/${page.name}`, title: page.title })),
    })),
    { title: 'API reference', pages: [{ path: '/docs/api', title: 'All operations' }, ...api] },
  ]
}

function isEntry({ map, path }: DocsPlace): boolean {
  return entriesOf(map).some(({ pages }) => pages.some((page) => page.path === path))
}

/** Links to the pages before and after this one. */
function PreviousAndNext({ place: { map, path } }: { readonly place: DocsPlace }) {
  const all = entriesOf(map).flatMap(({ pages }) => pages)
  const here = all.findIndex((each) => each.path === path)
  if (here === -1) return null
  return (
    <nav
      aria-label="Previous and next page"
      className="mt-14 grid gap-4 border-t border-line pt-6 sm:grid-cols-2"
    >
      <Neighbour label="Previous" entry={all[here - 1]} />
      <Neighbour label="Next" entry={all[here + 1]} />
    </nav>
  )
}

interface NeighbourProps {
  readonly label: 'Previous' | 'Next'
  readonly entry: DocsEntry | undefined
}

function Neighbour({ label, entry }: NeighbourProps) {
  if (entry === undefined) return <span className="max-sm:hidden" />
  return (
    <a
      href={entry.path}
      rel={label === 'Next' ? 'next' : 'prev'}
      className={`block min-w-0 rounded-lg border border-line-strong bg-surface px-4 py-3 hover:border-accent ${label === 'Next' ? 'sm:text-right' : ''}`}
    >
      <span className="block text-sm text-soft">{label}</span>
      <span className="font-medium text-accent wrap-anywhere">{entry.title}</span>
    </a>
  )
}

interface NavGroupProps {
  readonly title: string
  readonly isOpen: boolean
  readonly children: ReactNode
}

/** Only the current group is open, so that the current page is in sight. */
function NavGroup({ title, isOpen, children }: NavGroupProps) {
  return (
    <details open={isOpen}>
      <summary className="cursor-pointer rounded-md font-semibold text-ink hover:text-accent">
        {title}
      </summary>
      <ul className="mt-1.5 space-y-0.5">{children}</ul>
    </details>
  )
}

interface NavPageProps {
  readonly path: string
  readonly title: string
  readonly place: DocsPlace
}

function NavPage({ path, title, place }: NavPageProps) {
  const here = path === place.path
  const parts = here ? partsOf(place.headings) : []
  return (
    <li>
      <a
        href={path}
        aria-current={here ? 'page' : undefined}
        className={`block rounded-md px-2.5 py-1 wrap-anywhere hover:text-accent ${here ? 'bg-accent-wash font-medium text-accent' : 'text-soft'}`}
      >
        {title}
      </a>
      {parts.length > 0 && (
        <ul className="my-1 ml-2.5 border-l border-line pl-3 max-lg:hidden">
          {parts.map(({ id, text }) => (
            <li key={id}>
              <a href={`#${id}`} className="block py-0.5 wrap-anywhere text-soft hover:text-accent">
                {text}
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

/** Only second-level headings, to keep the list short. */
function partsOf(headings: readonly BookHeading[]): readonly BookHeading[] {
  return headings.filter(({ level }) => level === 2)
}

/** A documentation page rendered from Markdown. */
export function docsPage(context: PageContext, map: DocsMap, page: BookPage): string {
  const { name, title, summary, html, headings } = page
  const path = `/docs/${name}`
  return htmlOf(
    <DocsLayout
      context={context}
      title={`${title} · ${context.serviceName}`}
      description={summary}
      path={path}
      alternates={[{ type: 'text/markdown', href: `${path}.md` }]}
      place={{ map, path, headings }}
      heading={title}
    >
      <div
        className="doc mt-8"
        // biome-ignore lint/security/noDangerouslySetInnerHtml: made by our build, which escapes HTML in Markdown
        dangerouslySetInnerHTML={{ __html: html }}
      />
      <p className="mt-10 text-sm text-soft">
        This page as{' '}
        <a href={`${path}.md`} className="underline underline-offset-4 hover:text-accent">
          Markdown
        </a>
      </p>
    </DocsLayout>,
  )
}
