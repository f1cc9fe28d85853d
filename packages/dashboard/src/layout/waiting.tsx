import { Loading, Skeleton } from '../parts/skeleton.tsx'

/** While the code of a page is on its way. */
export function Waiting() {
  return (
    <div className="flex flex-col gap-8">
      <Loading what="the page" />
      <Skeleton className="h-10 w-56" />
      <Skeleton className="h-72" />
    </div>
  )
}
