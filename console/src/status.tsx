// The line below the navigation that says when the figures of the page may not be current.
import { ageNews, linkNews } from "./link";
import { useLink, useNow } from "./parts";
import { useRoute } from "./route";
import { shown } from "./text";

// The age changes each second, so it is outside of the part that screen readers tell.
export function StatusLine() {
  const link = useLink();
  const now = useNow();
  const isPast = Boolean(useRoute().query.get("at"));
  const news = linkNews(link, now, isPast);
  return (
    <div className={"link-news" + (news.length ? " has-news" : "") + (link.lostAt === undefined ? "" : " lost")}>
      <p role="status">{shown(news.join(" "))}</p>
      <p className="age">{isPast ? "" : ageNews(link, now)}</p>
    </div>
  );
}
