import { Loading, Skeleton } from '../components/skeleton.tsx'

/** Shown while the code of a page is loading. The first page has the same one in index.html. */
export function PagePlaceholder() {
  return (
    <div className="flex flex-col gap-8">
      <Loading what="the page" />
      <Skeleton className="h-10 w-56" />
      <Skeleton className="h-72" />
    </div>
  )
}
