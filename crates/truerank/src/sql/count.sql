-- Counts a click log: how often each user saw and clicked each document of each query at each position.
--
-- A result page is a session of a query. It belongs to one user and shows a document once; several documents may share
-- a position. Ids keep their type: whole numbers stay whole numbers, text stays text.

-- The impressions, positions and clicks as numbers. `fault` is the first rule that a row breaks, `example` the value.
{create} truerank_log AS
SELECT
    session,
    {user},
    query,
    doc,
    position,
    click,
    CASE
        WHEN position_text IS NULL THEN 'position is missing, but every impression needs one'
        WHEN position IS NULL THEN 'position is no whole number, but positions are whole numbers from 1'
        WHEN position < 1 THEN 'position is below 1, but positions start at 1'
        WHEN position > {max_position} THEN 'position is too large, but positions go up to {max_position}'
        WHEN click_text IS NULL THEN 'click is missing, but every impression needs one'
        WHEN click IS NULL THEN 'click is something else, but a click is 0 or 1'
        WHEN session IS NULL THEN 'session is missing or empty, but every impression needs one'
        WHEN doc IS NULL OR CAST(doc AS {text}) = '' THEN 'doc is missing or empty, but every impression needs one'
        WHEN query IS NULL OR CAST(query AS {text}) = '' THEN 'query is missing or empty, but every impression needs one'
        WHEN {user} IS NULL OR CAST({user} AS {text}) = '' THEN 'user is missing or empty, but every impression needs one'
    END AS fault,
    CASE WHEN position BETWEEN 1 AND {max_position} THEN click_text ELSE position_text END AS example{place}
FROM (
    SELECT
        session,
        {user},
        query,
        doc,
        position_text,
        -- DuckDB would round 1.5 and take 1e3, so only digits are let through.
        CASE WHEN NOT {matches}(position_text, '[^0-9+-]') THEN {try_cast}(position_text AS {integer}) END AS position,
        click_text,
        CASE
            WHEN click_text IN ('1', 'true', 'yes', 'y', 't') THEN 1
            WHEN click_text IN ('0', 'false', 'no', 'n', 'f') THEN 0
        END AS click{place}
    FROM (
        SELECT
            {session_column} AS session,
            {user_column} AS {user},
            {query_column} AS query,
            {doc_column} AS doc,
            -- Some tools write whole numbers as 3.0.
            REGEXP_REPLACE(TRIM(CAST({position_column} AS {text})), '[.]0+$', '') AS position_text,
            REGEXP_REPLACE(LOWER(TRIM(CAST({click_column} AS {text}))), '[.]0+$', '') AS click_text{place}
        FROM {log}
    ) AS columns_of_log
) AS values_of_log;

-- What each page shows. A document that stands there once has `times` 1; rows that break a rule stand apart.
{create} truerank_shown AS
SELECT
    query,
    session,
    doc,
    fault,
    MIN({user}) AS {user},
    MAX({user}) AS last_user,
    MIN(position) AS position,
    MAX(click) AS click,
    COUNT(*) AS times,
    MIN(example) AS example
FROM truerank_log
GROUP BY query, session, doc, fault;

-- The pages.
{create} truerank_pages AS
SELECT query, session, MIN({user}) AS {user}, MAX(last_user) AS last_user, SUM(times) AS shown, SUM(click) AS clicks
FROM truerank_shown
WHERE fault IS NULL
GROUP BY query, session;

-- What is wrong with the log: each finding once, how many rows or pages it is about, and the first of them. A log whose
-- checks are not empty is not to be counted.
{create} truerank_checks AS
SELECT finding, found, session, CAST(query AS {text}) AS query, example, other
FROM (
    SELECT
        finding,
        SUM(times) OVER (PARTITION BY finding) AS found,
        session,
        query,
        example,
        other,
        ROW_NUMBER() OVER (PARTITION BY finding ORDER BY query, session, example) AS place
    FROM (
        SELECT fault AS finding, times, session, query, example, CAST(NULL AS {text}) AS other
        FROM truerank_shown
        WHERE fault IS NOT NULL
        UNION ALL
        SELECT
            'doc appears twice on a page, but a result page shows it once',
            times,
            session,
            query,
            CAST(doc AS {text}),
            CAST(NULL AS {text})
        FROM truerank_shown
        WHERE fault IS NULL AND times > 1
        UNION ALL
        SELECT
            'page belongs to two users, but a session has one user',
            1,
            session,
            query,
            CAST({user} AS {text}),
            CAST(last_user AS {text})
        FROM truerank_pages
        WHERE {user} <> last_user
    ) AS broken
) AS numbered
WHERE place = 1
UNION ALL
SELECT
    CASE
        WHEN impressions > 0 THEN 'log holds clicks alone, but what people look at is learned from what was not clicked'
        ELSE 'log holds no impressions'
    END,
    impressions,
    CAST(NULL AS {text}),
    CAST(NULL AS {text}),
    CAST(NULL AS {text}),
    CAST(NULL AS {text})
FROM (SELECT COALESCE(SUM(shown), 0) AS impressions, COALESCE(SUM(clicks), 0) AS clicks FROM truerank_pages) AS totals
WHERE impressions = clicks;

-- The result: cells.
{create} truerank_cells AS
SELECT query, doc, position, {user}, COUNT(*) AS impressions, SUM(click) AS clicks
FROM truerank_shown
GROUP BY query, doc, position, {user};

-- The result: sessions of each query and user.
{create} truerank_sessions AS
SELECT query, {user}, COUNT(*) AS sessions
FROM truerank_pages
GROUP BY query, {user};

-- The result: pages of a user that look the same, with the same clicks; only the PRS loss needs them.
{create} truerank_patterns AS
SELECT query, {user}, shown, COUNT(*) AS sessions
FROM (
    SELECT query, session, MIN({user}) AS {user}, {page} AS shown
    FROM truerank_shown
    GROUP BY query, session
) AS pages_of_log
GROUP BY query, {user}, shown;

-- Pages that show several documents at one position, which must not be where transitions are wanted: what follows a click is
-- then not known.
{create} truerank_shared_positions AS
SELECT session, CAST(query AS {text}) AS query, position
FROM truerank_shown
WHERE fault IS NULL
GROUP BY session, query, position
HAVING COUNT(*) > 1;

-- The list of documents that each page shows, numbered within its query; only click models need it and what follows.
{create} truerank_page_lists AS
SELECT query, session, {user}, listed, DENSE_RANK() OVER (PARTITION BY query ORDER BY listed) AS list
FROM (
    SELECT query, session, MIN({user}) AS {user}, {list} AS listed
    FROM truerank_shown
    GROUP BY query, session
) AS pages_of_log;

-- The result: the lists.
{create} truerank_lists AS
SELECT query, list, listed
FROM truerank_page_lists
GROUP BY query, list, listed;

-- From each click of a page to the next one below it: position 0 is outside of the list, before the first click and after the
-- last.
{create} truerank_steps AS
SELECT
    query,
    session,
    COALESCE(LAG(position) OVER (PARTITION BY query, session ORDER BY position), 0) AS from_position,
    position AS to_position
FROM truerank_shown
WHERE click = 1
UNION ALL
SELECT query, session, MAX(CASE WHEN click = 1 THEN position ELSE 0 END), 0
FROM truerank_shown
GROUP BY query, session;

-- The result: how often users went from click to click on each list.
{create} truerank_transitions AS
SELECT pages.query, pages.list, pages.{user}, steps.from_position, steps.to_position, COUNT(*) AS sessions
FROM truerank_steps AS steps
JOIN truerank_page_lists AS pages ON pages.query = steps.query AND pages.session = steps.session
GROUP BY pages.query, pages.list, pages.{user}, steps.from_position, steps.to_position;
