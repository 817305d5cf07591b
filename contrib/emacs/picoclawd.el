;;; picoclawd.el --- Work beside agents in one directory  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: files, vc, tools

;;; Commentary:

;; Agents' changes appear in your buffers, your unsaved text stays yours, and every change has an author.
;;
;;     (add-to-list 'load-path "/path/to/contrib/emacs")
;;     (require 'picoclawd)
;;     (picoclawd-mode)
;;
;; It speaks to the operator's socket of the daemon that serves a buffer's directory: $PICOCLAWD_OPERATOR_SOCKET, else
;; the one that its info.json names.  `picoclawd-status' says which.
;;
;; Whatever Emacs calls by itself (hooks, filters, timers) is wrapped in `picoclawd--guard': what goes wrong is one
;; line in the echo area.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'subr-x)

(defgroup picoclawd nil
  "Work beside agents in one directory."
  :group 'tools)

(defcustom picoclawd-call-timeout 60
  "Seconds after which a call without an answer has failed.
The longest that the daemon takes, a search of a large tree, is half of
the default."
  :type 'number)

(defconst picoclawd--retry-first 0.1 "Seconds; a restart takes the daemon about that long.")
(defconst picoclawd--retry-max 5.0 "Seconds between two attempts, at most.")
(defconst picoclawd--line-max (* 64 1024 1024) "Bytes of one answer; the daemon's own bound is far below.")
(defconst picoclawd--info-max (* 64 1024) "Bytes of an info.json, which is under 1 KiB.")
(defconst picoclawd--socket-path-max 107 "Bytes: sun_path, see unix(7).")
(defconst picoclawd--params-max 2000 "Characters of a call's params: its diff says what more of them do.")
(defconst picoclawd--search-limit 1000 "Rows of one page, the most that find_files gives.")
(defconst picoclawd--outside "a program outside picoclawd")

;;; Text: what comes from files and clients is escaped before it is shown

(defconst picoclawd--controls
  "[\x00-\x1f\x7f\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\x3fff80-\x3fffff]"
  "What steers a terminal or reorders text, and raw bytes.")

(defconst picoclawd--in-name
  (concat (substring picoclawd--controls 0 -1)
          "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
          "\U000e0000-\U000e0fff]")
  "The same, and what shows nothing.")

(defun picoclawd--escaped (char)
  "The escape of the one-character string CHAR."
  (let ((code (aref char 0)))
    (cond ((= code ?\n) "\\n")
          ((= code ?\t) "\\t")
          ((= code ?\r) "\\r")
          ((= code ?\\) "\\\\")
          ((>= code #x3fff80) (format "\\x%02x" (- code #x3fff00)))
          ((< code #x80) (format "\\x%02x" code))
          ((< code #x10000) (format "\\u%04x" code))
          (t (format "\\U%08x" code)))))

(defun picoclawd--shown (text)
  "TEXT, a name or what a client says of itself, as one line.
Where something has to be escaped, its backslashes are, too."
  (let ((text (string-to-multibyte (format "%s" text)))
        (case-fold-search nil))
    (if (string-match-p picoclawd--in-name text)
        (replace-regexp-in-string (concat picoclawd--in-name "\\|\\\\") #'picoclawd--escaped text t t)
      text)))

(defun picoclawd--shown-lines (text)
  "The lines of TEXT, a file's; tabs stay."
  (let ((case-fold-search nil))
    (mapcar (lambda (line)
              (replace-regexp-in-string picoclawd--controls
                                        (lambda (char) (if (equal char "\t") char (picoclawd--escaped char)))
                                        line t t))
            (split-string (string-trim-right (string-to-multibyte text) "\n+") "\n"))))

(defun picoclawd--say (format &rest arguments)
  "Show one line, made of FORMAT and ARGUMENTS, which are escaped already."
  (message "picoclawd: %s" (replace-regexp-in-string "\n" " " (apply #'format format arguments))))

(defmacro picoclawd--guard (&rest body)
  "Run BODY; an error in it is a message."
  (declare (indent 0) (debug t))
  `(condition-case fault
       (progn ,@body)
     (error (picoclawd--say "%s" (picoclawd--shown (error-message-string fault))))))

(defun picoclawd--complain (fault)
  "Say why a call failed: FAULT is the error object."
  (picoclawd--say "%s" (picoclawd--shown (picoclawd--one-line (alist-get 'message fault)))))

(defun picoclawd--one-line (text)
  "TEXT on one line."
  (replace-regexp-in-string "\n" " " (format "%s" text)))

;;; Paths: absolute and real

(defun picoclawd--coding ()
  "How file names are decoded here."
  (or file-name-coding-system default-file-name-coding-system 'utf-8))

(defun picoclawd--encoded (path)
  "PATH as `path_bytes' takes it, which can say every name."
  (mapconcat (lambda (byte)
               (if (or (<= ?a byte ?z) (<= ?A byte ?Z) (<= ?0 byte ?9) (memq byte '(?- ?. ?_ ?~ ?/)))
                   (string byte)
                 (format "%%%02X" byte)))
             (encode-coding-string path (picoclawd--coding)) ""))

(defun picoclawd--row-path (row)
  "The path that ROW names, as Emacs spells it.
There is `path_bytes' where `path' cannot say it."
  (let ((bytes (alist-get 'path_bytes row)))
    (decode-coding-string
     (if bytes
         (replace-regexp-in-string "%\\([0-9A-Fa-f][0-9A-Fa-f]\\)"
                                   (lambda (hex) (unibyte-string (string-to-number (substring hex 1) 16)))
                                   (string-to-unibyte bytes) t t)
       (encode-coding-string (alist-get 'path row) 'utf-8))
     (picoclawd--coding))))

(defun picoclawd--holds (workspace path)
  "Whether PATH is WORKSPACE or below it."
  (and workspace (string-prefix-p (file-name-as-directory workspace) (file-name-as-directory path))))

(defun picoclawd--below (workspace path)
  "The absolute name of PATH, relative to WORKSPACE."
  (concat (file-name-as-directory workspace) path))

;;; Finding the daemon, as picoclawctl does

(defun picoclawd--own (path)
  "The attributes of PATH, a file of this user."
  (let ((facts (file-attributes (file-truename path) 'integer)))
    (and facts (= (file-attribute-user-id facts) (user-uid)) facts)))

(defun picoclawd--parse (text)
  "The JSON in TEXT: objects are alists, null and false are nil.
Signal an error where it is none."
  (if (fboundp 'json-parse-string)
      (json-parse-string text :object-type 'alist :null-object nil :false-object nil)
    (let ((json-object-type 'alist) (json-array-type 'vector) (json-null nil) (json-false nil))
      (json-read-from-string text))))

(defun picoclawd--read-info (path)
  "What the info.json at PATH names: (WORKSPACE . SOCKET of the operator).
Nil where it names none, or is not of this user."
  (ignore-errors
    (when (picoclawd--own path)
      (with-temp-buffer
        (insert-file-contents-literally path nil 0 picoclawd--info-max)
        (let* ((info (picoclawd--parse (decode-coding-string (buffer-string) 'utf-8)))
               (workspace (alist-get 'workspace info)))
          (and (stringp workspace)
               (cons (directory-file-name (file-truename workspace))
                     (or (alist-get 'operator (alist-get 'sockets info)) ""))))))))

(defun picoclawd--daemons ()
  "What every info.json of this user names."
  (let ((runtime (getenv "XDG_RUNTIME_DIR"))
        (state (or (getenv "XDG_STATE_HOME") "~/.local/state"))
        found)
    (dolist (place (list (and runtime (cons runtime "info.json")) (cons state "run/info.json")))
      (when place
        (let ((parent (expand-file-name "picoclawd" (car place))))
          (dolist (name (and (file-directory-p parent) (directory-files parent nil "\\`[^.]" t)))
            (push (picoclawd--read-info (expand-file-name (concat name "/" (cdr place)) parent)) found)))))
    (delq nil found)))

(defun picoclawd--advice (place)
  "What to say where no daemon serves PLACE."
  (format "no daemon serves %s. Start one with: picoclawd serve --workspace %s"
          (picoclawd--shown place) (picoclawd--shown place)))

(defun picoclawd--find (place)
  "The key of the daemon that serves PLACE.
That is (socket . PATH) or (workspace . PATH), or a string that says why there
is none."
  (let ((named (getenv "PICOCLAWD_OPERATOR_SOCKET")) best)
    (if (and named (not (equal named "")))
        (cons 'socket named)
      (dolist (each (picoclawd--daemons))
        (when (and (picoclawd--holds (car each) place) (> (length (car each)) (length (car best))))
          (setq best each)))
      (cond ((null best) (picoclawd--advice place))
            ((equal (cdr best) "")
             (format "the daemon of %s has no operator socket: daemon.operator_socket is \"\" in its configuration"
                     (picoclawd--shown (car best))))
            (t (cons 'workspace (car best)))))))

;;; The link to one daemon

(cl-defstruct (picoclawd--link (:constructor picoclawd--make-link) (:copier nil))
  key workspace process session timer why lost waiting
  (state 'down)                         ; down, opening, open
  (delay picoclawd--retry-first)
  (chunks nil)
  (last-id 0)
  (calls (make-hash-table))             ; by id: (done . timer)
  (marks (make-hash-table :test #'equal)))

(defvar picoclawd--links nil "Every link, for as long as the mode is on.")
(defvar picoclawd--unsaved nil "Alist: buffers with unsaved text, their real files.")
(defvar picoclawd-mode)

(defun picoclawd--send (link method params done)
  "Ask the daemon of LINK for METHOD with PARAMS, an alist.
DONE gets the error object and the result."
  (let* ((id (cl-incf (picoclawd--link-last-id link)))
         (text (json-encode `((jsonrpc . "2.0") (id . ,id) (method . ,method)
                              (params . ,(or params (make-hash-table))))))
         (late `((message . ,(format "%s: the daemon has not answered in %s s. Look at: picoclawctl status"
                                     method picoclawd-call-timeout)))))
    (when (string-match-p "[\x3fff80-\x3fffff]" (string-to-multibyte text))
      (user-error "This cannot be sent: it is not UTF-8"))
    (puthash id (cons done (run-at-time picoclawd-call-timeout nil #'picoclawd--answer link id late nil))
             (picoclawd--link-calls link))
    (process-send-string (picoclawd--link-process link) (concat (encode-coding-string text 'utf-8) "\n"))))

(defun picoclawd--answer (link id fault result)
  "Give FAULT and RESULT to the call ID of LINK."
  (let ((call (gethash id (picoclawd--link-calls link))))
    (when call
      (remhash id (picoclawd--link-calls link))
      (cancel-timer (cdr call))
      (picoclawd--guard (funcall (car call) fault result)))))

(defun picoclawd--call (link method params &optional done failed)
  "Ask LINK for METHOD with PARAMS.
Then DONE gets the result, or FAILED the error object; by default it is shown."
  (let ((failed (or failed #'picoclawd--complain)))
    (if (not (eq (picoclawd--link-state link) 'open))
        (funcall failed `((message . ,(or (picoclawd--link-why link) "not connected"))))
      (picoclawd--send link method params
                       (lambda (fault result)
                         (cond (fault (funcall failed fault))
                               (done (funcall done result))))))))

(defun picoclawd--filter (link process chunk)
  "Take CHUNK from PROCESS, the connection of LINK."
  (picoclawd--guard
    (push chunk (picoclawd--link-chunks link))
    (when (string-match-p "\n" chunk)
      (let ((lines (split-string (apply #'concat (nreverse (picoclawd--link-chunks link))) "\n")))
        (setf (picoclawd--link-chunks link) (last lines))
        (dolist (line (butlast lines))
          (when (eq process (picoclawd--link-process link))
            (picoclawd--take link line)))))
    (when (> (apply #'+ (mapcar #'length (picoclawd--link-chunks link))) picoclawd--line-max)
      (picoclawd--close link "an answer has no end"))))

(defun picoclawd--take (link line)
  "Take one LINE from LINK."
  (let ((message (condition-case nil
                     (picoclawd--parse (decode-coding-string line 'utf-8))
                   (error nil))))
    (cond ((not (consp message)) (picoclawd--close link "what listens there does not speak JSON-RPC"))
          ((alist-get 'id message)
           (picoclawd--answer link (alist-get 'id message) (alist-get 'error message) (alist-get 'result message)))
          ((alist-get 'method message)
           (picoclawd--guard (picoclawd--heard link (alist-get 'method message) (alist-get 'params message)))))))

(defun picoclawd--objection (path)
  "Why the socket at PATH is not connected to; nil where nothing speaks against it."
  (let ((facts (file-attributes (file-truename path) 'integer)))
    (cond ((> (string-bytes path) picoclawd--socket-path-max)
           (format "the socket's path is longer than %d bytes: %s" picoclawd--socket-path-max (picoclawd--shown path)))
          ((null facts)
           (format "no daemon listens at %s. Start it with: picoclawd serve" (picoclawd--shown path)))
          ((not (string-prefix-p "s" (file-attribute-modes facts)))
           (format "%s is no socket" (picoclawd--shown path)))
          ((/= (file-attribute-user-id facts) (user-uid))
           (format "%s belongs to another user: it is not used" (picoclawd--shown path))))))

(defun picoclawd--socket (link)
  "Where the daemon of LINK listens now; nil for nowhere.
After a restart that may be elsewhere."
  (let ((key (picoclawd--link-key link)))
    (if (eq (car key) 'socket)
        (cdr key)
      (cl-loop for (workspace . socket) in (picoclawd--daemons)
               when (and (equal workspace (cdr key)) (not (equal socket ""))) return socket))))

(defun picoclawd--connect (link)
  "Connect LINK, if it is not connected."
  (when (eq (picoclawd--link-state link) 'down)
    (when (picoclawd--link-timer link)
      (cancel-timer (picoclawd--link-timer link)))
    (let* ((socket (picoclawd--socket link))
           (why (if socket (picoclawd--objection socket) (picoclawd--advice (cdr (picoclawd--link-key link))))))
      (if why
          (picoclawd--close link why)
        (condition-case nil
            (picoclawd--open link socket)
          (error
           (picoclawd--close link (format "nobody answers at %s. Start the daemon with: picoclawd serve"
                                          (picoclawd--shown socket)))))))))

(defun picoclawd--open (link socket)
  "Connect LINK to SOCKET and introduce this editor."
  (setf (picoclawd--link-chunks link) nil
        (picoclawd--link-state link) 'opening
        (picoclawd--link-process link)
        (make-network-process
         :name "picoclawd" :family 'local :service socket :coding 'binary :noquery t
         :filter (lambda (process chunk) (picoclawd--filter link process chunk))
         :sentinel (lambda (process _event)
                     (when (and (eq process (picoclawd--link-process link)) (not (process-live-p process)))
                       (picoclawd--guard (picoclawd--close link "the daemon ended the connection"))))))
  (picoclawd--introduce link))

(defun picoclawd--introduce (link)
  "Name this editor to the daemon of LINK and subscribe."
  (let ((refused (lambda (fault)
                   (picoclawd--close link (concat "the daemon refused the connection: "
                                                  (picoclawd--shown (alist-get 'message fault)))))))
    (picoclawd--send
     link "session.open" '((client . "Emacs"))
     (lambda (fault session)
       (if fault
           (funcall refused fault)
         (setf (picoclawd--link-session link) (alist-get 'session_id session))
         (unless (picoclawd--link-workspace link)
           (setf (picoclawd--link-workspace link)
                 (directory-file-name (file-truename (alist-get 'workspace session)))))
         (picoclawd--send link "events.subscribe" '((kinds . ["file.changed" "approval.*"]))
                          (lambda (fault _result)
                            (if fault
                                (funcall refused fault)
                              (picoclawd--opened link)))))))))

(defun picoclawd--opened (link)
  "Go on with LINK, which is connected now.
Tell what is unsaved, and look at what changed while nobody listened."
  (setf (picoclawd--link-state link) 'open
        (picoclawd--link-why link) nil
        (picoclawd--link-delay link) picoclawd--retry-first)
  (when (picoclawd--link-lost link)
    (setf (picoclawd--link-lost link) nil)
    (picoclawd--say "connected again to the daemon of %s" (picoclawd--shown (picoclawd--link-workspace link))))
  (mapc (lambda (each) (picoclawd--settle link (cdr each))) picoclawd--unsaved)
  (picoclawd--refresh-all)
  (picoclawd--renew-approvals)
  (let ((waiting (nreverse (picoclawd--link-waiting link))))
    (setf (picoclawd--link-waiting link) nil)
    (dolist (each waiting)
      (picoclawd--guard (funcall each link)))))

(defun picoclawd--close (link why)
  "End the connection of LINK, or the attempt; WHY is a sentence.
It is tried again later."
  (let ((process (picoclawd--link-process link))
        (was-open (eq (picoclawd--link-state link) 'open))
        (waiting (picoclawd--link-waiting link))
        (calls (picoclawd--link-calls link)))
    (setf (picoclawd--link-process link) nil
          (picoclawd--link-state link) 'down
          (picoclawd--link-why link) why
          (picoclawd--link-waiting link) nil
          (picoclawd--link-calls link) (make-hash-table)
          (picoclawd--link-marks link) (make-hash-table :test #'equal)
          (picoclawd--link-timer link) (run-at-time (picoclawd--link-delay link) nil #'picoclawd--connect link)
          (picoclawd--link-delay link) (min (* 2 (picoclawd--link-delay link)) picoclawd--retry-max))
    (when process
      (delete-process process))
    (when was-open
      (setf (picoclawd--link-lost link) t)
      (picoclawd--say "%s (%s). Trying again." why (picoclawd--shown (picoclawd--link-workspace link))))
    (maphash (lambda (_id call)
               (cancel-timer (cdr call))
               (picoclawd--guard
                 (funcall (car call) `((message . ,(concat why ": `picoclawd-history' shows what became of it"))) nil)))
             calls)
    (when waiting
      (picoclawd--say "%s" why))))

(defun picoclawd--link-at (place)
  "The link to the daemon that serves PLACE, made if need be.
A string where there is none: it is the reason."
  (let ((key (picoclawd--find place)))
    (if (stringp key)                   ; its daemon may be away for now
        (or (cl-find-if (lambda (link) (picoclawd--holds (picoclawd--link-workspace link) place)) picoclawd--links)
            key)
      (or (cl-find key picoclawd--links :key #'picoclawd--link-key :test #'equal)
          (let ((link (picoclawd--make-link :key key :workspace (and (eq (car key) 'workspace) (cdr key)))))
            (push link picoclawd--links)
            (picoclawd--connect link)
            link)))))

(defun picoclawd--with-link (place ready)
  "Call READY with the link to the daemon of PLACE, once it is connected."
  (unless picoclawd-mode
    (picoclawd-mode))
  (let ((link (picoclawd--link-at place)))
    (cond ((stringp link) (user-error "Picoclawd: %s" link))
          ((eq (picoclawd--link-state link) 'open) (funcall ready link))
          (t (push ready (picoclawd--link-waiting link))
             (picoclawd--connect link)))))

;;; Buffers: which files they visit, and what is unsaved

(defvar-local picoclawd--who nil "Who changed the visited file last, as far as this editor heard.")
(defvar-local picoclawd--behind nil "The file's modification time of which the person was told.")
(defvar-local picoclawd--file nil "The file that a view is about.")

(defun picoclawd--real (&optional buffer)
  "The real name of the local file that BUFFER visits, or nil."
  (let ((name (buffer-file-name buffer)))
    (and name (not (file-remote-p name)) (file-truename name))))

(defun picoclawd--mtime (file)
  "The modification time of FILE, or nil."
  (file-attribute-modification-time (file-attributes file)))

(defun picoclawd--settle (link real)
  "Tell the daemon of LINK whether REAL is unsaved here.
There is one call at a time for a file: two may overtake each other."
  (let* ((marks (picoclawd--link-marks link))
         (mark (or (gethash real marks) (list nil nil))) ; what was said, and whether a call is under way
         (wanted (and (rassoc real picoclawd--unsaved) t))
         (done (lambda (&rest _)
                 (setf (nth 1 mark) nil)
                 (picoclawd--settle link real))))
    (when (and (eq (picoclawd--link-state link) 'open)
               (not (nth 1 mark))
               (picoclawd--holds (picoclawd--link-workspace link) real))
      (if (eq wanted (nth 0 mark))
          (unless wanted
            (remhash real marks))
        (setf (nth 0 mark) wanted
              (nth 1 mark) t)
        (puthash real mark marks)
        (picoclawd--call link (if wanted "editor.dirty" "editor.clean") `((path_bytes . ,(picoclawd--encoded real)))
                         done
                         (lambda (fault)
                           (unless (or (not (eq mark (gethash real (picoclawd--link-marks link))))
                                       (member (alist-get 'error (alist-get 'data fault))
                                               '("protected_path" "outside_workspace")))
                             (picoclawd--complain fault))
                           (funcall done)))))))

(defun picoclawd--sync (&optional buffer gone)
  "Tell whether BUFFER (default: the current one) has unsaved text.
GONE means that it is about to be killed."
  (let ((buffer (or buffer (current-buffer))))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (let ((before (cdr (assq buffer picoclawd--unsaved)))
              (now (and (not gone) (buffer-modified-p) (picoclawd--real))))
          (unless (equal before now)
            (setq picoclawd--unsaved (assq-delete-all buffer picoclawd--unsaved))
            (when now
              (push (cons buffer now) picoclawd--unsaved))
            (dolist (link picoclawd--links)
              (dolist (real (delq nil (list before now)))
                (picoclawd--settle link real))))
          (when (and picoclawd--behind (not now) (not gone))
            (picoclawd--refresh buffer)))))))

(defun picoclawd--attach ()
  "Look after the current buffer, if it visits a file."
  (picoclawd--guard
    (let ((real (picoclawd--real)))
      (when real
        (add-hook 'after-change-functions #'picoclawd--sync-soon nil t)
        (picoclawd--link-at real)
        (picoclawd--sync)))))

(defvar-local picoclawd--syncing nil "Whether a look at this buffer is due.")

(defun picoclawd--sync-soon (&rest _)
  "Look at the current buffer after this command.
Only then undo ends as unmodified."
  (unless picoclawd--syncing
    (setq picoclawd--syncing t)
    (run-at-time 0 nil (lambda (buffer)
                         (when (buffer-live-p buffer)
                           (with-current-buffer buffer
                             (setq picoclawd--syncing nil)
                             (picoclawd--guard (picoclawd--sync)))))
                 (current-buffer))))

(defun picoclawd--after-save ()
  "The buffer is the file now."
  (setq picoclawd--behind nil)
  (picoclawd--attach))

(defun picoclawd--after-command ()
  "Hear of `not-modified' and the like, which no hook tells."
  (when (and buffer-file-name (not (eq (and (buffer-modified-p) t) (and (assq (current-buffer) picoclawd--unsaved) t))))
    (picoclawd--sync-soon)))

(defun picoclawd--on-kill ()
  "The current buffer goes, and its unsaved text with it."
  (picoclawd--guard
    (when buffer-file-name
      (picoclawd--sync nil t))))

(defun picoclawd--client (name)
  "The client that calls itself NAME, to be shown."
  (if (equal name "") "an agent without a name" (picoclawd--shown name)))

(defun picoclawd--author (by)
  "Say who BY is, of an event."
  (cond ((not (consp by)) picoclawd--outside)
        ((cl-find (alist-get 'session_id by) picoclawd--links :key #'picoclawd--link-session :test #'equal)
         (format "you (%s)" (picoclawd--shown (alist-get 'tool by))))
        (t (format "%s (%s, session %s)"
                   (picoclawd--client (alist-get 'client by))
                   (picoclawd--shown (alist-get 'tool by))
                   (picoclawd--shown (alist-get 'session_id by))))))

(defun picoclawd--label (real)
  "REAL as its workspace calls it, to be shown."
  (let ((link (cl-find-if (lambda (link) (picoclawd--holds (picoclawd--link-workspace link) real)) picoclawd--links)))
    (picoclawd--shown (if link (file-relative-name real (picoclawd--link-workspace link)) real))))

(defun picoclawd--refresh (buffer)
  "Bring BUFFER up to the disk, or say why not."
  (with-current-buffer buffer
    (let* ((real (picoclawd--real))
           (who (or picoclawd--who "somebody while this editor was not connected"))
           (now (picoclawd--mtime real)))
      (cond ((and (verify-visited-file-modtime buffer) (not picoclawd--behind)))
            ((null now)
             (unless (eq picoclawd--behind 'gone)
               (setq picoclawd--behind 'gone)
               (picoclawd--say
                "%s: gone from the disk, its text is still here, `picoclawd-history' brings it back; removed by %s"
                (picoclawd--label real) who)))
            ((buffer-modified-p)
             (unless (equal picoclawd--behind now)
               (setq picoclawd--behind now)
               (picoclawd--say "%s: your unsaved text is kept, `picoclawd-diff' shows both; changed by %s"
                               (picoclawd--label real) who)))
            (t
             (setq picoclawd--behind nil)
             (let ((inhibit-message t))
               (revert-buffer t t t))
             (picoclawd--say "%s: reloaded, changed by %s" (picoclawd--label real) who))))))

(defun picoclawd--refresh-all (&optional real)
  "Bring every buffer up to the disk that visits a file, or the file REAL."
  (dolist (buffer (buffer-list))
    (let ((file (picoclawd--real buffer)))
      (when (and file (if real (equal file real) (picoclawd--served-p file)))
        (picoclawd--guard (picoclawd--refresh buffer))))))

(defun picoclawd--served-p (file)
  "Whether FILE is in the workspace of a daemon."
  (cl-some (lambda (link) (picoclawd--holds (picoclawd--link-workspace link) file)) picoclawd--links))

(defun picoclawd--heard (link method params)
  "Take the notification METHOD with PARAMS from LINK."
  (pcase method
    ("file.changed"
     (let ((real (picoclawd--below (picoclawd--link-workspace link) (picoclawd--row-path params))))
       (dolist (buffer (buffer-list))
         (when (equal (picoclawd--real buffer) real)
           (with-current-buffer buffer
             (when (or (consp (alist-get 'by params)) (not (verify-visited-file-modtime buffer)))
               (setq picoclawd--who (picoclawd--author (alist-get 'by params))))
             (picoclawd--guard (picoclawd--refresh buffer)))))))
    ("resync"
     (picoclawd--refresh-all)
     (picoclawd--renew-approvals))
    ("approval.requested"
     (picoclawd--say "%s waits for you, `picoclawd-approvals' shows it; asked by %s"
                     (picoclawd--shown (alist-get 'call params))
                     (picoclawd--client (alist-get 'client params)))
     (picoclawd--renew-approvals))
    ((or "approval.answered" "approval.withdrawn")
     (picoclawd--renew-approvals))))

;;; Views

(defvar picoclawd-view-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'picoclawd-visit)
    (define-key map "r" #'picoclawd-restore-here)
    (define-key map "a" #'picoclawd-approve-here)
    (define-key map "t" #'picoclawd-approve-task-here)
    (define-key map "d" #'picoclawd-deny-here)
    map)
  "Keys of what picoclawd shows.")

(define-derived-mode picoclawd-view-mode special-mode "picoclawd"
  "What a daemon says: history, approvals, found lines."
  (setq-local bidi-display-reordering nil)
  (setq-local truncate-lines t)
  (setq-local next-error-function #'picoclawd--next-result))

(defun picoclawd--datum-at (position)
  "The datum of the line of a view at POSITION."
  (save-excursion
    (goto-char position)
    (get-text-property (line-beginning-position) 'picoclawd)))

(defun picoclawd--position-of (datum)
  "Where DATUM begins in a view, else the headline.
So a key never meets another row than the one that was seen."
  (or (and datum (cl-loop for at = (point-min) then (next-single-property-change at 'picoclawd)
                          while at
                          when (equal (get-text-property at 'picoclawd) datum) return at))
      (point-min)))

(defun picoclawd--view (title rows &optional file)
  "Put ROWS into the view TITLE, which is about FILE; return its buffer.
A row is a cons of a line and its datum."
  (with-current-buffer (get-buffer-create (format "*picoclawd %s*" title))
    (unless (derived-mode-p 'picoclawd-view-mode)
      (picoclawd-view-mode))
    (let* ((inhibit-read-only t)
           (windows (get-buffer-window-list nil nil t))
           (data (mapcar #'picoclawd--datum-at (cons (point) (mapcar #'window-point windows)))))
      (erase-buffer)
      (dolist (row rows)
        (insert (propertize (concat (car row) "\n") 'picoclawd (cdr row))))
      (goto-char (picoclawd--position-of (car data)))
      (cl-mapc (lambda (window datum) (set-window-point window (picoclawd--position-of datum))) windows (cdr data)))
    (setq picoclawd--file file)
    (current-buffer)))

(defun picoclawd--show (title rows &optional file)
  "Show ROWS as `picoclawd--view' makes them from TITLE and FILE."
  (pop-to-buffer (picoclawd--view title rows file)))

(defun picoclawd--here (kind)
  "The datum of KIND on this line of a view.  Signals an error where there is none."
  (let ((datum (get-text-property (line-beginning-position) 'picoclawd)))
    (if (eq (car-safe datum) kind)
        (cdr datum)
      (user-error "Picoclawd: there is no %s on this line" kind))))

(defun picoclawd--file-here ()
  "The file that a command is about."
  (or picoclawd--file (picoclawd--real) (user-error "Picoclawd: this buffer visits no file: go to one first")))

(defun picoclawd--place-here ()
  "The place whose daemon a command is about."
  (or picoclawd--file (picoclawd--real) (directory-file-name (file-truename default-directory))))

(defun picoclawd-visit ()
  "Show this line's version against the disk, or go to what was found."
  (interactive)
  (pcase (get-text-property (line-beginning-position) 'picoclawd)
    (`(version . ,version) (picoclawd-diff version))
    (`(place ,file . ,line-no)
     (find-file-other-window file)
     (goto-char (point-min))
     (forward-line (1- line-no)))))

(defun picoclawd--next-result (count &optional reset)
  "Go COUNT found lines on, from the first if RESET is not nil: for `next-error'."
  (when reset
    (goto-char (point-min)))
  (forward-line count)
  (picoclawd--here 'place)
  (save-selected-window (picoclawd-visit)))

;;; Who, history, diff, restore

(defun picoclawd--time (moment)
  "MOMENT, a local time in the form of ISO 8601, as a person reads it."
  (replace-regexp-in-string "T" " " (substring (picoclawd--shown moment) 0 (min 19 (length moment)))))

(defun picoclawd--version-line (row)
  "One line for ROW of a file's history."
  (format "v%d  %s  %-8s  by %s%s%s"
          (alist-get 'version row)
          (picoclawd--time (alist-get 'changed_at row))
          (picoclawd--shown (alist-get 'action row))
          (if (equal (alist-get 'action row) "external")
              picoclawd--outside
            (format "%s (%s)" (picoclawd--shown (or (alist-get 'client row) (alist-get 'session_id row) "-"))
                    (picoclawd--shown (or (alist-get 'tool row) "-"))))
          (if (member (alist-get 'objective row) '(nil ""))
              ""
            (concat ": " (picoclawd--shown (alist-get 'objective row))))
          (if (alist-get 'restorable row) "" "  (cannot be restored)")))

(defun picoclawd--versions (link real limit done)
  "Give DONE the newest LIMIT versions of REAL that LINK knows, as a list."
  (picoclawd--call link "file_history"
                   `((path_bytes . ,(picoclawd--encoded real)) ,@(and limit `((limit . ,limit))))
                   (lambda (result)
                     (funcall done (append (alist-get 'versions (alist-get 'data result)) nil)))))

;;;###autoload
(defun picoclawd-who ()
  "Say who changed this file last, and which change the line at point comes from."
  (interactive)
  (let* ((real (picoclawd--file-here))
         (line-no (line-number-at-pos nil t))
         (is-saved (and buffer-file-name (not (buffer-modified-p))))
         (since (if (equal picoclawd--who picoclawd--outside) (concat "; since then changed by " picoclawd--who) "")))
    (picoclawd--with-link
     real
     (lambda (link)
       (picoclawd--versions
        link real 1
        (lambda (versions)
          (let ((text (format "%s: %s%s" (picoclawd--label real)
                              (if versions (picoclawd--version-line (car versions)) "no tool has changed it")
                              since)))
            (if (not is-saved)
                (picoclawd--say "%s" text)
              (picoclawd--call
               link "history.blame" `((path_bytes . ,(picoclawd--encoded real)))
               (lambda (blame)
                 (let* ((lines (alist-get 'lines (alist-get 'data blame)))
                        (line (and (<= line-no (length lines)) (aref lines (1- line-no)))))
                   (picoclawd--say "%s; line %d: %s" text line-no
                                   (if (alist-get 'version line)
                                       (format "v%d by %s" (alist-get 'version line)
                                               (picoclawd--shown (or (alist-get 'client line) "-")))
                                     "from before, or from outside"))))
               (lambda (_fault) (picoclawd--say "%s" text)))))))))))

;;;###autoload
(defun picoclawd-history ()
  "Show the recorded versions of this file."
  (interactive)
  (let ((real (picoclawd--file-here)))
    (picoclawd--with-link
     real
     (lambda (link)
       (picoclawd--versions
        link real nil
        (lambda (versions)
          (picoclawd--show
           (concat "history: " (picoclawd--label real))
           (cons '("# RET diff with the disk   r restore   q quit")
                 (or (mapcar (lambda (row)
                               (cons (picoclawd--version-line row) (cons 'version (alist-get 'version row))))
                             versions)
                     '(("# No tool has changed this file."))))
           real)))))))

;;;###autoload
(defun picoclawd-diff (&optional version)
  "Show this buffer against the disk.
With VERSION, a number, show that version of the file against the disk."
  (interactive (list (and current-prefix-arg (read-number "Version: "))))
  (if (not version)
      (diff-buffer-with-file (current-buffer))
    (let ((real (picoclawd--file-here)))
      (picoclawd--with-link
       real
       (lambda (link)
         (picoclawd--call
          link "file_history" `((mode . "read") (version . ,version) (path_bytes . ,(picoclawd--encoded real)))
          (lambda (result)
            (picoclawd--show (concat "diff: " (picoclawd--label real))
                             (mapcar #'list (picoclawd--shown-lines (alist-get 'content result)))
                             real))))))))

;;;###autoload
(defun picoclawd-restore (version &optional force)
  "Take this file back to VERSION; shows what that would do, and asks.
With FORCE (a prefix argument) also where somebody else changed the file since."
  (interactive (list (read-number "Version: ") current-prefix-arg))
  (let* ((real (picoclawd--file-here))
         (params `((version . ,version) (path_bytes . ,(picoclawd--encoded real)) (force . ,(if force t :json-false)))))
    (when (rassoc real picoclawd--unsaved)
      (user-error "Picoclawd: %s has unsaved text: save it, or drop it with `revert-buffer', then restore"
                  (picoclawd--label real)))
    (picoclawd--with-link
     real
     (lambda (link)
       (picoclawd--call
        link "restore_file" `(,@params (_meta . ((dry_run . t))))
        (lambda (result)
          (picoclawd--show (concat "restore: " (picoclawd--label real))
                           (mapcar #'list (picoclawd--shown-lines (alist-get 'content result)))
                           real)
          (if (y-or-n-p (format "Restore version %d of %s? " version (picoclawd--label real)))
              (picoclawd--call link "restore_file" params
                               (lambda (result)
                                 (picoclawd--say "%s" (picoclawd--shown
                                                       (cadr (split-string (alist-get 'content result) "\n"))))))
            (picoclawd--say "nothing was restored"))))))))

(defun picoclawd-restore-here ()
  "Restore the version on this line."
  (interactive)
  (picoclawd-restore (picoclawd--here 'version)))

;;; Approvals: a request can be answered once it was shown

(defvar picoclawd--requests nil "Alist of the ids that were shown: (ID LINK DIGEST CALL).")
(defconst picoclawd--approvals "approvals" "The title of the view.")

(defun picoclawd--described (request)
  "The lines that show REQUEST whole."
  (let ((params (picoclawd--shown (json-encode (alist-get 'params request)))))
    (when (> (length params) picoclawd--params-max)
      (setq params (concat (substring params 0 picoclawd--params-max) "… (more: picoclawctl approvals --json)")))
    `(,(format "%s  %s" (picoclawd--shown (alist-get 'id request)) (picoclawd--shown (alist-get 'call request)))
      ,(concat "  reason     " (picoclawd--shown (alist-get 'reason request)))
      ,(concat "  path       " (picoclawd--shown (alist-get 'path request)))
      ,(concat "  params     " params)
      ,(concat "  session    " (picoclawd--shown (alist-get 'session_id request)))
      ,(concat "  client     " (picoclawd--shown (alist-get 'client request)) "  (claimed)")
      ,(concat "  objective  " (picoclawd--shown (alist-get 'objective request)) "  (claimed)")
      ,@(and (not (member (alist-get 'diff request) '(nil "")))
             (mapcar (lambda (line) (concat "    " line)) (picoclawd--shown-lines (alist-get 'diff request)))))))

(defun picoclawd--pending (done)
  "Give DONE what waits at every daemon, oldest first.
It is a list of conses of a link and a request."
  (let* ((open (cl-remove-if-not (lambda (link) (eq (picoclawd--link-state link) 'open)) picoclawd--links))
         (left (length open))
         found
         (one-less (lambda ()
                     (when (zerop (cl-decf left))
                       (funcall done (sort found (lambda (a b) (< (alist-get 'requested_at (cdr a))
                                                                  (alist-get 'requested_at (cdr b))))))))))
    (dolist (link open)
      (picoclawd--call link "approvals.list" nil
                       (lambda (result)
                         (mapc (lambda (request) (push (cons link request) found)) (alist-get 'pending result))
                         (funcall one-less))
                       (lambda (fault)
                         (picoclawd--complain fault)
                         (funcall one-less))))))

(defun picoclawd--render-approvals (found)
  "Put FOUND, of `picoclawd--pending', into its view; return the buffer."
  (setq picoclawd--requests
        (mapcar (lambda (each)
                  (list (alist-get 'id (cdr each)) (car each) (alist-get 'digest (cdr each))
                        (alist-get 'call (cdr each))))
                found))
  (picoclawd--view
   picoclawd--approvals
   (cons '("# a approve   t approve for its task   d deny   q quit")
         (or (mapcan (lambda (each)
                       (mapcar (lambda (line) (cons line (cons 'request (alist-get 'id (cdr each)))))
                               (picoclawd--described (cdr each))))
                     found)
             '(("# Nothing waits for an answer."))))))

;;;###autoload
(defun picoclawd-approvals (&optional done)
  "Show the calls that wait for your answer; then call DONE."
  (interactive)
  (picoclawd--with-link
   (picoclawd--place-here)
   (lambda (_link)
     (picoclawd--pending (lambda (found)
                           (pop-to-buffer (picoclawd--render-approvals found))
                           (when done
                             (funcall done)))))))

(defun picoclawd--renew-approvals ()
  "Bring the view of approvals up to date, if there is one."
  (when (get-buffer (format "*picoclawd %s*" picoclawd--approvals))
    (picoclawd--pending #'picoclawd--render-approvals)))

(defun picoclawd--give (id answer)
  "Give ANSWER to the request ID, if it was shown."
  (pcase (or (assoc id picoclawd--requests) (assoc (concat "a-" id) picoclawd--requests))
    (`(,id ,link ,digest ,call)
     (picoclawd--call
      link "approvals.answer" `((id . ,id) (digest . ,digest) (answer . ,answer))
      (lambda (told)
        (picoclawd--say "%s: %s%s"
                        (cdr (assoc answer '(("once" . "approved") ("task" . "approved for its task")
                                             ("deny" . "denied"))))
                        (picoclawd--shown call)
                        (if (alist-get 'warning told)
                            (concat ". Warning: " (picoclawd--shown (alist-get 'warning told)))
                          ""))
        (picoclawd--renew-approvals))))
    (_ (picoclawd-approvals
        (lambda ()
          (picoclawd--say "%s was not shown to you yet, or waits no more: read the list, then answer"
                          (picoclawd--shown id)))))))

(defun picoclawd--read-id (prompt)
  "Ask with PROMPT for one of the requests that were shown."
  (completing-read prompt (mapcar #'car picoclawd--requests)))

;;;###autoload
(defun picoclawd-approve (id &optional for-task)
  "Allow the call ID, which was shown.
With FOR-TASK (a prefix argument) allow its method for the whole task."
  (interactive (list (picoclawd--read-id "Approve: ") current-prefix-arg))
  (picoclawd--give id (if for-task "task" "once")))

;;;###autoload
(defun picoclawd-deny (id)
  "Deny the call ID, which was shown."
  (interactive (list (picoclawd--read-id "Deny: ")))
  (picoclawd--give id "deny"))

(defun picoclawd-approve-here ()
  "Allow the call on this line."
  (interactive)
  (picoclawd--give (picoclawd--here 'request) "once"))

(defun picoclawd-approve-task-here ()
  "Allow the method of the call on this line for its whole task."
  (interactive)
  (picoclawd--give (picoclawd--here 'request) "task"))

(defun picoclawd-deny-here ()
  "Deny the call on this line."
  (interactive)
  (picoclawd--give (picoclawd--here 'request) "deny"))

;;; Search

;;;###autoload
(defun picoclawd-search (pattern)
  "Show the lines of the workspace that match PATTERN, a regular expression of RE2."
  (interactive "sSearch (RE2): ")
  (let ((place (picoclawd--place-here)))
    (picoclawd--with-link
     place
     (lambda (link)
       (picoclawd--call
        link "find_files"
        `((queries . [((pattern . ,pattern) (file_pattern . "**/*"))])
          (mode . "search") (output . "content") (limit . ,picoclawd--search-limit))
        (lambda (result)
          (let* ((rows (append (alist-get 'results (alist-get 'data result)) nil))
                 (found (mapcar (lambda (row) (picoclawd--found link row))
                                (cl-remove-if-not (lambda (row) (alist-get 'line row)) rows)))
                 (content (alist-get 'content result)))
            (setq next-error-last-buffer (picoclawd--show "search" found place))
            (picoclawd--say "%d lines match %s %s" (length found) (picoclawd--shown pattern)
                            (picoclawd--shown (if (string-match "\\[[^\n]*\\]\\'" content)
                                                  (match-string 0 content)
                                                ""))))))))))

(defun picoclawd--found (link row)
  "The row of a view for ROW, which was found by LINK."
  (let ((file (picoclawd--below (picoclawd--link-workspace link) (picoclawd--row-path row))))
    (cons (format "%s:%d:%s" (picoclawd--label file) (alist-get 'line row)
                  (car (picoclawd--shown-lines (alist-get 'text row))))
          `(place ,file . ,(alist-get 'line row)))))

;;;###autoload
(defun picoclawd-status ()
  "Say which daemons this editor is connected to."
  (interactive)
  (let ((link (picoclawd--link-at (picoclawd--place-here))))
    (if (and (stringp link) (null picoclawd--links))
        (picoclawd--say "%s" link)
      (picoclawd--say
       "%s"
       (mapconcat (lambda (link)
                    (format "%s: %s" (picoclawd--shown (or (picoclawd--link-workspace link)
                                                           (cdr (picoclawd--link-key link))))
                            (pcase (picoclawd--link-state link)
                              ('open "connected")
                              ('opening "connecting")
                              (_ (concat "not connected: " (picoclawd--link-why link))))))
                  picoclawd--links "; ")))))

;;; The mode

(defconst picoclawd--hooks
  '((find-file-hook . picoclawd--attach)
    (after-save-hook . picoclawd--after-save)
    (after-revert-hook . picoclawd--after-save)
    (after-set-visited-file-name-hook . picoclawd--attach)
    (post-command-hook . picoclawd--after-command)
    (kill-buffer-hook . picoclawd--on-kill))
  "Where this mode listens.")

;;;###autoload
(define-minor-mode picoclawd-mode
  "Work beside agents in one directory.
What they change is reloaded, and they are kept away from what is not saved."
  :global t
  (pcase-dolist (`(,hook . ,function) picoclawd--hooks)
    (if picoclawd-mode
        (add-hook hook function)
      (remove-hook hook function)))
  (if picoclawd-mode
      (dolist (buffer (buffer-list))
        (with-current-buffer buffer
          (picoclawd--attach)))
    (picoclawd--leave)))

(defun picoclawd--leave ()
  "Close every connection."
  (dolist (link picoclawd--links)
    (let ((process (picoclawd--link-process link)))
      (setf (picoclawd--link-process link) nil)
      (when process
        (delete-process process)))
    (when (picoclawd--link-timer link)
      (cancel-timer (picoclawd--link-timer link)))
    (maphash (lambda (_id call) (cancel-timer (cdr call))) (picoclawd--link-calls link)))
  (setq picoclawd--links nil
        picoclawd--unsaved nil)
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (remove-hook 'after-change-functions #'picoclawd--sync-soon t))))

(provide 'picoclawd)
;;; picoclawd.el ends here
