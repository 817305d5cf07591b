;;; drive.el --- Runs in the editor under test  -*- lexical-binding: t; -*-

;;; Commentary:
;; Evaluates what comes from the test's socket, a JSON line at a time, and answers.

;;; Code:

(require 'json)
(require 'picoclawd)

(defvar drive-messages nil "Every message, the newest first.")
(advice-add 'message :around
            (lambda (show format &rest arguments)
              (when format
                (push (apply #'format format arguments) drive-messages))
              (apply show format arguments)))

(defvar drive-rest "")
(defvar drive-buffer (current-buffer) "Where the next line is evaluated: a filter's own buffer does not last.")

(defun drive-eval (code)
  "The value of CODE in the buffer where the last one ended."
  (with-current-buffer (if (buffer-live-p drive-buffer) drive-buffer "*scratch*")
    (prog1 (eval (car (read-from-string code)) t)
      (setq drive-buffer (current-buffer)))))

(defun drive-run (process line)
  "Evaluate LINE and answer PROCESS."
  (let ((answer (condition-case fault
                    (list (cons 'ok t)
                          (cons 'result (drive-eval (alist-get 'code (json-read-from-string line)))))
                  (error (list (cons 'ok :json-false) (cons 'result (error-message-string fault)))))))
    (process-send-string process (concat (encode-coding-string (json-encode answer) 'utf-8) "\n"))))

(defvar drive-process
  (make-network-process
   :name "drive" :family 'local :service (getenv "DRIVER_SOCKET") :coding 'binary
   :filter (lambda (process chunk)
             (setq drive-rest (concat drive-rest chunk))
             (while (string-match "\n" drive-rest)
               (let ((line (substring drive-rest 0 (match-beginning 0))))
                 (setq drive-rest (substring drive-rest (match-end 0)))
                 (drive-run process (decode-coding-string line 'utf-8)))))))

(picoclawd-mode)
(while (process-live-p drive-process)
  (accept-process-output nil 0.1))

;;; drive.el ends here
